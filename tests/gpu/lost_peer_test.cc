// A rank dies while others wait for it on the GPU.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/gpu/gpu_ranks.h"

namespace accel {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCalls = 1000;

// Reduces again and again, as training would. Rank 1 kills itself in the middle, and notes the time
// in `killed`. Returns the exit code of main(): 1 after an error that names rank 1.
int train_until_a_peer_dies(const std::string& killed) {
  try {
    Accelerator accelerator;
    torch::Tensor x = torch::ones({1 << 16}, accelerator.device());
    for (int call = 0; call < kCalls; ++call) {
      if (call == kCalls / 2 && !accelerator.is_main_process()) {
        std::ofstream(killed) << Clock::now().time_since_epoch().count() << std::endl;
        kill(getpid(), SIGKILL);
      }
      x = accelerator.reduce(x, torch::kMean);
    }
    x.sum().item<float>();  // Returns when NCCL is aborted.
    accelerator.wait_for_everyone();
    return 0;
  } catch (const CommunicationError& error) {
    std::fprintf(stderr, "train: %s\n", error.what());
    return std::string(error.what()).find("rank 1") == std::string::npos ? 2 : 1;
  }
}

// Neither the timeout of a call, which is 30 minutes, nor LibTorch's watchdog, which would end the
// process by SIGABRT after a minute, may come into play.
TEST(LostPeerTest, TheOthersThrowAndExitWithinFiveSeconds) {
  if (runtime::load_cuda() == 0) GTEST_SKIP() << "no GPU on this machine";
  const std::string killed = testing::TempDir() + "/killed";
  const bool is_parent =
      runtime::on_ranks(2,
                        [&] {
                          share_one_gpu();
                          std::exit(train_until_a_peer_dies(killed));  // As a return from main().
                        },
                        one_gpu(), {{0, 1}, {1, -SIGKILL}});
  if (!is_parent) return;
  Clock::rep at = 0;
  std::ifstream(killed) >> at;
  const Clock::duration since = Clock::now().time_since_epoch() - Clock::duration(at);
  EXPECT_LT(since, std::chrono::seconds(5));
}

}  // namespace
}  // namespace accel
