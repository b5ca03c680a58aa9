// A place for the coordinator, for objects that are made before its server because the
// server needs them.
#pragma once

#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "coordinator/access/entrance.h"
#include "coordinator/coordinator.h"

namespace accel::coordinator {

// Thread-safe.
class CoordinatorSlot {
 public:
  // Sets the coordinator. Called once, immediately after its server has started. `entrance` admits
  // the calls of the server. `address` is its HOST:PORT for newcomers, and empty if it listens on
  // no TCP address.
  void Set(Coordinator* coordinator, Entrance* entrance, std::string address) {
    coordinator_ = coordinator;
    entrance_ = entrance;
    address_ = std::move(address);
    set_.Notify();
  }

  // The getters block until Set(), because a call can arrive a moment before it.
  Coordinator& coordinator() const {
    set_.WaitForNotification();
    return *coordinator_;
  }
  Entrance& entrance() const {
    set_.WaitForNotification();
    return *entrance_;
  }
  const std::string& address() const {
    set_.WaitForNotification();
    return address_;
  }

 private:
  Coordinator* coordinator_ = nullptr;
  Entrance* entrance_ = nullptr;
  std::string address_;
  absl::Notification set_;
};

}  // namespace accel::coordinator
