#include "tests/simulation/node_disk.h"

#include <utility>

#include "absl/strings/match.h"

namespace accel::simulation {
namespace {

// A disk that is full still takes a small file now and then, so starts fail at different places.
constexpr double kFails = 0.7;

}  // namespace

absl::Status NodeDisk::Write(const std::string& path, std::string content) {
  if (clock_->Now() < fails_until_ && Chance() < kFails) {
    seen_.insert("write on a node that failed");
    return error_;
  }
  files_[path] = {std::move(content), /*synced=*/false};
  return absl::OkStatus();
}

void NodeDisk::Sync(const std::string& path) {
  const auto found = files_.find(path);
  if (found != files_.end()) found->second.synced = true;
}

std::optional<std::string> NodeDisk::Read(const std::string& path) const {
  const auto found = files_.find(path);
  if (found == files_.end()) return std::nullopt;
  return found->second.content;
}

void NodeDisk::Remove(const std::string& folder) {
  std::erase_if(files_, [&](const auto& file) { return absl::StartsWith(file.first, folder); });
}

std::vector<std::string> NodeDisk::List(const std::string& folder) const {
  std::vector<std::string> names;
  for (auto file = files_.lower_bound(folder);
       file != files_.end() && absl::StartsWith(file->first, folder); ++file) {
    const std::string rest = file->first.substr(folder.size());
    std::string name = rest.substr(0, rest.find('/'));
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

void NodeDisk::FailFor(absl::Duration time, absl::Status error) {
  fails_until_ = clock_->Now() + time;
  error_ = std::move(error);
}

void NodeDisk::LosePower() {
  for (auto file = files_.begin(); file != files_.end();) {
    if (file->second.synced) {
      ++file;
      continue;
    }
    seen_.insert("power failure on a node that had files which were not synced");
    const double chance = Chance();
    if (chance < 0.4) {
      file = files_.erase(file);
      continue;
    }
    if (chance < 0.7) file->second.content.clear();
    file->second.synced = true;
    ++file;
  }
}

}  // namespace accel::simulation
