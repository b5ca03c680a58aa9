// The only file that includes Gloo's headers. They come from Debian's package, while the code is in
// LibTorch: their versions can differ, so their use is kept in one place.
#include "runtime/comm/gloo_backend.h"

#include <gloo/common/error.h>

#include <sstream>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "runtime/comm/local_address.h"

namespace accel::runtime {
namespace {

using Gloo = c10d::ProcessGroupGloo;

void add_devices(const Environment& environment, Gloo::Options& options) {
  std::istringstream interfaces(environment.gloo_interfaces);
  for (std::string name; std::getline(interfaces, name, ',');) {
    options.devices.push_back(Gloo::createDeviceForInterface(name));
  }
  if (options.devices.empty()) {
    options.devices.push_back(
        Gloo::createDeviceForHostname(local_address_towards(environment.master_addr)));
  }
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    const Environment& environment,
                                                    std::chrono::milliseconds timeout) {
  auto options = Gloo::Options::create(timeout);
  add_devices(environment, *options);
  return c10::make_intrusive<Gloo>(store, environment.rank, environment.world_size, options);
}

bool is_gloo_error(const std::exception& error) {
  return dynamic_cast<const gloo::Exception*>(&error) != nullptr;
}

}  // namespace accel::runtime
