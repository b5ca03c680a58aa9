#include "coordinator/blobs/get_slots.h"

#include "absl/status/status.h"

namespace accel::coordinator {

absl::StatusOr<std::unique_ptr<GetSlots::Slot>> GetSlots::Take(const Caller& caller) {
  if (caller.kind != CallerKind::kUser) return nullptr;
  const bool is_full = ++taken_ > kMaxOfUsers;
  auto slot = std::make_unique<Slot>(&taken_);
  if (is_full) {
    return absl::UnavailableError(
        "the coordinator sends uploads to many other users; try again later");
  }
  return slot;
}

}  // namespace accel::coordinator
