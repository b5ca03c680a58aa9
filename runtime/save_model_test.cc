// Weights in safetensors, exchanged with Python.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "accel/accelerator.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

fs::path fresh_folder(const std::string& name = "checkpoints_test") {
  const fs::path folder = fs::path(testing::TempDir()) / name;
  fs::remove_all(folder);
  return folder;
}

TEST(SaveModel, TiedAndConvertedAndStrict) {
  const fs::path folder = fresh_folder();
  Accelerator accelerator({.cpu = true});
  torch::nn::Sequential net(torch::nn::Linear(3, 3), torch::nn::Linear(3, 3));
  const auto tie = [](auto& layers) {
    layers->parameters()[2].set_data(layers->parameters()[0].data());
  };
  tie(net);
  accelerator.save_model(net, folder, 1);
  EXPECT_TRUE(fs::exists(folder / "model.safetensors.index.json"));

  torch::nn::Sequential half(torch::nn::Linear(3, 3), torch::nn::Linear(3, 3));
  half->to(torch::kBFloat16);
  EXPECT_THAT(error_of([&] { accelerator.load_checkpoint_in_model(half, folder); }),
              HasSubstr("it lacks 1.weight"));
  tie(half);
  accelerator.load_checkpoint_in_model(half, folder);
  EXPECT_TRUE(torch::equal(half->parameters()[0], net->parameters()[0].to(torch::kBFloat16)));

  torch::nn::Linear other(3, 4);
  EXPECT_THAT(error_of([&] { accelerator.load_checkpoint_in_model(other, folder); }),
              HasSubstr("it lacks weight, bias"));
  accelerator.load_checkpoint_in_model(other, folder, /*strict=*/false);
  accelerator.save_model(torch::nn::Linear(5, 4), folder);
  EXPECT_FALSE(fs::exists(folder / "model.safetensors.index.json"));
  EXPECT_THAT(error_of([&] { accelerator.load_checkpoint_in_model(other, folder); }),
              HasSubstr("weight has shape [4, 5] there and [4, 3]"));
}

std::string python() {
  if (const char* named = std::getenv("ACCEL_PYTHON")) return named;
  return std::string(getpwuid(getuid())->pw_dir) + "/.cache/accel/venv/bin/python";
}

constexpr char kPython[] = R"(
import sys, torch, accelerate
folder, other = sys.argv[1:]
net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2))
accelerate.load_checkpoint_in_model(net, folder, strict=True)
assert torch.equal(net[0].weight.flatten(), torch.arange(12.)), net[0].weight
assert net[1].num_batches_tracked.item() == 7
with torch.no_grad():
    for tensor in net.state_dict().values(): tensor += 1
accelerator = accelerate.Accelerator(cpu=True)
accelerator.save_model(net, other, max_shard_size=60)
accelerator.save_model(net.half(), other + "_half")
accelerator.save_model(net.bfloat16(), other + "_bfloat16", max_shard_size=60)
)";

TEST(SaveModel, PythonReadsItAndTheReverse) {
  const fs::path ours = fresh_folder("ours"), theirs = fresh_folder("theirs");
  fresh_folder("theirs_half");
  fresh_folder("theirs_bfloat16");
  Accelerator accelerator({.cpu = true});
  torch::nn::Sequential net(torch::nn::Linear(4, 3), torch::nn::BatchNorm1d(3),
                            torch::nn::Linear(3, 2));
  {
    torch::NoGradGuard no_grad;
    net->parameters()[0].copy_(torch::arange(12.0).view({3, 4}));
    net->named_buffers()["1.num_batches_tracked"].fill_(7);
  }
  accelerator.save_model(net, ours, 70);
  const fs::path script = fs::path(testing::TempDir()) / "both_ways.py";
  std::ofstream(script) << kPython;
  const std::string command = "timeout 100 " + python() + " " + script.string() + " " +
                              ours.string() + " " + theirs.string();
  ASSERT_EQ(std::system(command.c_str()), 0);

  torch::nn::Sequential back(torch::nn::Linear(4, 3), torch::nn::BatchNorm1d(3),
                             torch::nn::Linear(3, 2));
  accelerator.load_checkpoint_in_model(back, theirs);
  EXPECT_TRUE(fs::exists(theirs / "model.safetensors.index.json"));
  for (const auto& item : net->named_parameters()) {
    EXPECT_TRUE(torch::equal(back->named_parameters()[item.key()], item.value() + 1)) << item.key();
  }
  EXPECT_EQ(back->named_buffers()["1.num_batches_tracked"].item<int>(), 8);

  // Weights that Python wrote in other dtypes are converted to the dtype of the parameters.
  for (const auto& [suffix, dtype] :
       {std::pair("_half", torch::kHalf), {"_bfloat16", torch::kBFloat16}}) {
    accelerator.load_checkpoint_in_model(back, theirs.string() + suffix);
    for (const auto& item : net->named_parameters()) {
      // Python converted half to bfloat16.
      const torch::Tensor expected = (item.value() + 1).to(torch::kHalf).to(dtype);
      EXPECT_TRUE(torch::equal(back->named_parameters()[item.key()], expected.to(torch::kFloat)))
          << item.key() << suffix;
    }
  }
}

TEST(SaveModel, NamesATensorThatTheFormatCannotHold) {
  const fs::path folder = fresh_folder();
  Accelerator accelerator({.cpu = true});
  auto odd = std::make_shared<torch::nn::Module>();
  odd->register_buffer("spectrum", torch::zeros({2}, torch::kComplexDouble));
  EXPECT_THAT(error_of([&] { accelerator.save_model(odd, folder); }),
              HasSubstr("safetensors has no dtype for spectrum, which is ComplexDouble"));
}

TEST(TorchSave, LibTorchSavesAndLoadsWhatIsPrepared) {
  Accelerator accelerator;
  torch::nn::Linear net(2, 2), other(2, 2);
  auto [model, optimizer] = accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.1));
  auto loaded = accelerator.prepare(other);
  std::stringstream file, optimizer_file;
  torch::save(model, file);
  torch::load(loaded, file);
  EXPECT_TRUE(torch::equal(net->weight, other->weight));
  torch::save(optimizer, optimizer_file);
  torch::load(optimizer, optimizer_file);
}

}  // namespace
}  // namespace accel::runtime
