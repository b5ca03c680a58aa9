// The store that a generation's workers meet at: PyTorch's TCPStore protocol.
#pragma once

#include "shim/rendezvous_store.h"

namespace accel::shim {

StoreStarter TcpRendezvousStores();

}  // namespace accel::shim
