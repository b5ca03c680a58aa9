#include "runtime/checkpoint/extra_files.h"

#include <set>

#include "accel/errors.h"
#include "runtime/checkpoint/durable_file.h"
#include "runtime/checkpoint/file_reader.h"
#include "runtime/checkpoint/folder_paths.h"
#include "runtime/checkpoint/verify.h"
#include "runtime/core/checkpoint_layout.h"

namespace accel::runtime {
namespace fs = std::filesystem;
namespace {

void sync_folders_in(const fs::path& folder) {
  sync_folder(folder);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_symlink() && entry.is_directory()) sync_folder(entry.path());
  }
}

std::set<std::string> listed_names_in(const fs::path& folder) {
  try {
    return listed_names(read_manifest(folder));
  } catch (const CheckpointError&) {
    return {kManifestFile};
  }
}

}  // namespace

void check_extra_names(const fs::path& partial, const std::vector<CheckpointFile>& files) {
  const auto check = [&](const std::string& name) {
    if (!fs::exists(fs::symlink_status(partial / name))) return;
    throw CheckpointError((partial / name).string() + ": a hook wrote it, but " + name +
                          " is a file of the checkpoint itself: give it another name");
  };
  check(kManifestFile);
  for (const CheckpointFile& file : files) check(file.name);
}

std::map<std::string, FileFacts> sync_extra_files(const fs::path& partial,
                                                  const std::set<std::string>& except) {
  std::map<std::string, FileFacts> extra;
  for (const auto& entry : fs::recursive_directory_iterator(partial)) {
    if (except.contains(fs::relative(entry.path(), partial).string())) continue;
    if (entry.is_regular_file() && !entry.is_symlink()) {
      sync_file(entry.path());
      extra[fs::relative(entry.path(), partial).string()] = facts_of(entry.path());
    } else if (entry.is_directory() && !entry.is_symlink()) {
      sync_folder(entry.path());
    } else {
      throw CheckpointError(entry.path().string() +
                            ": it is neither a file nor a folder, and cannot be saved");
    }
  }
  return extra;
}

void carry_over_unlisted_files(const fs::path& folder, const fs::path& partial) {
  const std::set<std::string> listed = listed_names_in(folder);
  for (const std::string& name : names_in(folder)) {
    if (listed.contains(name) || fs::exists(partial / name)) continue;
    fs::copy(folder / name, partial / name,
             fs::copy_options::recursive | fs::copy_options::create_hard_links |
                 fs::copy_options::copy_symlinks);
    if (fs::is_directory(fs::symlink_status(partial / name))) sync_folders_in(partial / name);
  }
}

}  // namespace accel::runtime
