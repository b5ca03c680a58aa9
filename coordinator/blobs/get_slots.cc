#include "coordinator/blobs/get_slots.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace accel::coordinator {

absl::StatusOr<std::unique_ptr<GetSlots::Slot>> GetSlots::Take(const Caller& caller) {
  const Key key = KeyOf(caller);
  absl::MutexLock lock(&mutex_);
  const auto found = taken_.find(key);
  if (caller.kind != CallerKind::kOwner && found != taken_.end() && found->second >= kMaxOfCaller) {
    return absl::UnavailableError(absl::StrCat(
        kMaxOfCaller, " of your calls read uploads already; try again when one has ended"));
  }
  if (caller.kind == CallerKind::kUser) {
    if (of_users_ >= kMaxOfUsers) {
      return absl::UnavailableError(
          "the coordinator sends uploads to many other users; try again later");
    }
    ++of_users_;
  }
  ++taken_[key];
  return std::make_unique<Slot>(this, caller);
}

void GetSlots::GiveBack(const Key& key) {
  absl::MutexLock lock(&mutex_);
  const auto found = taken_.find(key);
  if (--found->second == 0) taken_.erase(found);
  if (key.first == CallerKind::kUser) --of_users_;
}

}  // namespace accel::coordinator
