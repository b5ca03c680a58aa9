// Stores with PyTorch's TCPStore protocol, at which a generation's workers meet.
#pragma once

#include "shim/rendezvous_store.h"

namespace accel::shim {

StoreStarter TcpRendezvousStores();

}  // namespace accel::shim
