// The steps of a program are signs of progress for its launcher (docs/decisions/0097).
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/comm/progress_beat.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

TEST(BeatsTest, ABatchAndABackwardPassAreSteps) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  struct stat info {};
  ASSERT_EQ(fstat(ends[1], &info), 0);
  const std::string address = std::to_string(ends[1]) + ":" + std::to_string(info.st_ino);
  setenv("ACCEL_BEAT_SOCKET", address.c_str(), 1);
  // Returns the number of beats since the last call, and lets the next step send one.
  const auto beats = [&ends] {
    int count = 0;
    char text[64];
    for (ssize_t size; (size = recv(ends[0], text, sizeof(text), MSG_DONTWAIT)) > 0;) {
      count += std::string(text, static_cast<std::size_t>(size)) == "beat 0";
    }
    ProgressBeat::of_process().wait();
    return count;
  };
  Accelerator accelerator;
  torch::nn::Linear net(1, 1);
  auto [model, loader] = accelerator.prepare(
      net, make_data_loader<torch::data::samplers::SequentialSampler>(Numbers(4), 2));
  EXPECT_EQ(beats(), 0);
  for (auto& batch : loader) {
    EXPECT_EQ(beats(), 1);
    accelerator.backward(model(batch.unsqueeze(1).to(torch::kFloat)).mean());
    EXPECT_EQ(beats(), 1);
  }
}

}  // namespace
}  // namespace accel::runtime
