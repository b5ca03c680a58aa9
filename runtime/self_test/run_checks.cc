// accel-self-test: the program that `accel test` starts in every process of a set-up. It prints one
// line per rank and one per check, on the main process. A rank on which a check fails says so, with
// its node and device, and exits with 1.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/self_test/checks.h"

namespace accel::self_test {
namespace {

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string who(const Accelerator& accelerator) {
  return "rank " + std::to_string(accelerator.process_index()) + " on node " + host_name() + " (" +
         accelerator.device().str() + ")";
}

int run() {
  const Accelerator accelerator;
  const auto everyone = accelerator.gather_object({who(accelerator)});
  if (accelerator.is_main_process()) {
    for (const std::string& each : everyone) std::printf("%s\n", each.c_str());
  }
  for (const auto& part : {process_checks(), loader_checks(), training_checks()}) {
    for (const Check& check : part) {
      try {
        check.run();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: the check \"%s\" failed: %s\n", who(accelerator).c_str(),
                     check.name, error.what());
        return 1;
      }
      if (accelerator.is_main_process()) std::printf("ok: %s\n", check.name);
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace accel::self_test

int main() {
  try {
    return accel::self_test::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "node %s: the processes cannot form a world: %s\n",
                 accel::self_test::host_name().c_str(), error.what());
    return 1;
  }
}
