#include "upload/fake_disk.h"

#include <cerrno>

namespace accel::upload {

std::function<int()>& OnSync() {
  static auto* const on_sync = new std::function<int()>([] { return 0; });
  return *on_sync;
}

std::function<void()>& OnFileSync() {
  static auto* const on_sync = new std::function<void()>([] {});
  return *on_sync;
}

int FailedSync() {
  errno = EIO;
  return -1;
}

void ResetSyncs() {
  OnSync() = [] { return 0; };
  OnFileSync() = [] {};
}

}  // namespace accel::upload

extern "C" int FakeSyncfs(int) noexcept __asm__("syncfs");
extern "C" int FakeSyncfs(int) noexcept { return accel::upload::OnSync()(); }

extern "C" int FakeFsync(int) __asm__("fsync");
extern "C" int FakeFsync(int) {
  accel::upload::OnFileSync()();
  return 0;
}
