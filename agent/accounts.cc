#include "agent/accounts.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/unique_fd.h"

namespace accel::agent {
namespace {

constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxEntries = 256;
constexpr int kMaxGroups = 65536;  // The kernel's limit.
constexpr size_t kFirstBuffer = 4096;
constexpr size_t kMaxLoginDefsBytes = 64 << 10;
constexpr size_t kLargestBuffer = 1 << 20;

std::vector<gid_t> GroupsOf(const char* name, gid_t gid) {
  std::vector<gid_t> groups(64);
  int count = static_cast<int>(groups.size());
  while (getgrouplist(name, gid, groups.data(), &count) < 0 && count <= kMaxGroups) {
    groups.resize(static_cast<size_t>(count));
  }
  groups.resize(static_cast<size_t>(std::clamp(count, 0, static_cast<int>(groups.size()))));
  return groups;
}

bool IsAccount(const absl::StatusOr<std::optional<process::Account>>& answer) {
  return answer.ok() && answer->has_value();
}

absl::Status NoAnswer(const std::string& name, absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("the user database of the node does not say who ", name, " is: ", why));
}

}  // namespace

absl::StatusOr<std::optional<process::Account>> LookUpAccount(const std::string& name) {
  std::vector<char> buffer(kFirstBuffer);
  passwd entry = {};
  passwd* found = nullptr;
  int error = 0;
  while ((error = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found)) ==
             ERANGE &&
         buffer.size() < kLargestBuffer) {
    buffer.resize(buffer.size() * 2);
  }
  // Some databases report an unknown name as an error.
  const bool is_missing = error == 0 || error == ENOENT || error == ESRCH;
  if (found == nullptr && is_missing) return std::nullopt;
  if (found == nullptr) return NoAnswer(name, strerror(error));
  process::Account account;
  account.name = name;
  account.uid = entry.pw_uid;
  account.gid = entry.pw_gid;
  account.groups = GroupsOf(entry.pw_name, entry.pw_gid);
  account.home = entry.pw_dir == nullptr ? "" : entry.pw_dir;
  account.shell = entry.pw_shell == nullptr ? "" : entry.pw_shell;
  return account;
}

std::string OwnAccount() {
  char buffer[kFirstBuffer];
  passwd entry = {};
  passwd* found = nullptr;
  getpwuid_r(geteuid(), &entry, buffer, sizeof(buffer), &found);
  return found == nullptr ? absl::StrCat(geteuid()) : std::string(found->pw_name);
}

std::string ReadLoginDefs() {
  const common::UniqueFd file(open("/etc/login.defs", O_RDONLY | O_CLOEXEC));
  std::string text(kMaxLoginDefsBytes, '\0');
  const ssize_t size = file.valid() ? read(file.get(), text.data(), text.size()) : 0;
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

Accounts::Accounts(Options options)
    : options_(std::move(options)), shared_(std::make_shared<Shared>()) {}

void Accounts::Begin(const std::string& name) {
  const absl::Time now = options_.clock->Now();
  if (entries_.size() >= kMaxEntries) {
    std::erase_if(entries_, [](const auto& each) { return !each.second.is_pending; });
  }
  // So many lookups are in progress only if the database hangs.
  if (entries_.size() >= kMaxEntries) return;
  // An old answer is kept until the next one.
  Entry& entry = entries_[name];
  entry.begun = now;
  entry.is_pending = true;
  std::thread([name, look_up = options_.look_up, pause = options_.second_look, shared = shared_] {
    Answer answer = look_up(name);
    if (!IsAccount(answer)) {
      absl::SleepFor(pause);
      answer = look_up(name);
    }
    {
      absl::MutexLock lock(&shared->mutex);
      shared->answers.insert_or_assign(name, std::move(answer));
    }
    shared->wake.Wake();
  }).detach();
}

void Accounts::Update() {
  shared_->wake.Clear();
  const absl::Time now = options_.clock->Now();
  std::map<std::string, Answer> answers;
  {
    absl::MutexLock lock(&shared_->mutex);
    answers.swap(shared_->answers);
  }
  for (auto& [name, answer] : answers) {
    const auto entry = entries_.find(name);
    if (entry == entries_.end()) continue;
    entry->second.answer = std::move(answer);
    entry->second.known_at = now;
    entry->second.is_pending = false;
  }
  for (auto& [name, entry] : entries_) {
    if (!entry.is_pending || now < entry.begun + options_.timeout) continue;
    entry.answer =
        NoAnswer(name, absl::StrCat("no answer within ", absl::FormatDuration(options_.timeout)));
    entry.known_at = now;
    entry.is_pending = false;
  }
}

bool Accounts::IsKnown(const std::string& runs_as) {
  if (RunsAsAgent(options_.rules, runs_as) || runs_as.empty()) return true;
  if (runs_as.size() > kMaxNameBytes) return true;
  Update();
  const auto found = entries_.find(runs_as);
  if (found != entries_.end() && found->second.is_pending) return false;
  if (found != entries_.end() && IsFresh(found->second)) return true;
  Begin(runs_as);
  const auto begun = entries_.find(runs_as);
  return begun == entries_.end() || !begun->second.is_pending;
}

bool Accounts::IsFresh(const Entry& entry) const {
  const absl::Duration lifetime =
      IsAccount(entry.answer) ? options_.lifetime : options_.failure_lifetime;
  return options_.clock->Now() < entry.known_at + lifetime;
}

bool Accounts::HasAnswer(const std::string& runs_as) const {
  const auto found = entries_.find(runs_as);
  return found != entries_.end() && found->second.known_at != absl::InfiniteFuture();
}

absl::StatusOr<std::optional<process::Account>> Accounts::Find(const std::string& runs_as) {
  if (RunsAsAgent(options_.rules, runs_as)) return std::nullopt;
  Answer answer = std::optional<process::Account>();
  if (!runs_as.empty() && runs_as.size() <= kMaxNameBytes) {
    const auto found = entries_.find(runs_as);
    if (found == entries_.end() || found->second.known_at == absl::InfiniteFuture()) {
      return NoAnswer("the job's account", "too many questions are open");
    }
    answer = found->second.answer;
  }
  if (!answer.ok()) return answer.status();
  const absl::Status allowed = CheckAccount(options_.rules, runs_as, *answer);
  if (!allowed.ok()) return allowed;
  // A job of root runs as the agent itself, which is root.
  if ((*answer)->uid == 0) return std::nullopt;
  return answer;
}

absl::Time Accounts::wake_at() const {
  absl::Time at = absl::InfiniteFuture();
  for (const auto& [name, entry] : entries_) {
    if (entry.is_pending) at = std::min(at, entry.begun + options_.timeout);
  }
  return at;
}

}  // namespace accel::agent
