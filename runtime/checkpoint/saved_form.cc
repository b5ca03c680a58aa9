#include "runtime/checkpoint/saved_form.h"

#include <utility>

#include "runtime/checkpoint/verify.h"

namespace accel::runtime {

SavedForm::SavedForm(std::filesystem::path checkpoint)
    : checkpoint_(std::move(checkpoint)), manifest_(read_manifest(checkpoint_)) {}

std::vector<std::string> SavedForm::parts_in(const std::string& folder) const {
  const std::string prefix = folder + "/", first = prefix + "shard-";
  std::vector<std::string> names;
  for (auto file = manifest_.files.lower_bound(first);
       file != manifest_.files.end() && file->first.starts_with(first); ++file) {
    names.push_back(file->first.substr(prefix.size()));
  }
  return names;
}

weights::SavedFolder SavedForm::open(const std::string& folder, const std::string& file) const {
  const std::vector<std::string> parts = parts_in(folder);
  if (parts.empty()) return weights::SavedFolder(checkpoint_, {file});
  return weights::SavedFolder(checkpoint_ / folder, parts);
}

}  // namespace accel::runtime
