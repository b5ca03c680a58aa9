// Rendezvous stores with PyTorch's TCPStore protocol.
#pragma once

#include "shim/rendezvous_store.h"

namespace accel::shim {

StoreStarter TcpRendezvousStores();

}  // namespace accel::shim
