// The coordinator for objects that are made before its server, because the server needs them.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "coordinator/coordinator.h"

namespace accel::coordinator {

// Thread-safe.
class CoordinatorSlot {
 public:
  using OnValidCall = std::function<void(const std::string& peer, const std::string& serial)>;

  // Called once, immediately after the server has started. `address` is its HOST:PORT for
  // newcomers. If it is empty, it listens on no TCP address. `on_valid_call` receives the peer and
  // the serial of each call whose caller is known.
  void Set(Coordinator* coordinator, std::string address, OnValidCall on_valid_call) {
    coordinator_ = coordinator;
    address_ = std::move(address);
    on_valid_call_ = std::move(on_valid_call);
    set_.Notify();
  }

  // These block until Set(). A call can arrive a moment before it.
  Coordinator& coordinator() const {
    set_.WaitForNotification();
    return *coordinator_;
  }
  const std::string& address() const {
    set_.WaitForNotification();
    return address_;
  }
  void NoteValidCall(const std::string& peer, const std::string& serial) const {
    set_.WaitForNotification();
    on_valid_call_(peer, serial);
  }

 private:
  Coordinator* coordinator_ = nullptr;
  std::string address_;
  OnValidCall on_valid_call_;
  absl::Notification set_;
};

}  // namespace accel::coordinator
