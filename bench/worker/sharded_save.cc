// Saves and loads the sharded state of a transformer and its AdamW; the peer of
// bench/workers/sharded_save.py.
//
//   sharded_save save|save_full|load|resume FOLDER LAYERS WIDTH
//
// `save` trains one step, saves into FOLDER, and saves once more. Rank 0 prints how long the second
// save_state() blocked training, the seconds from its call until wait_for_save() returned.
// `save_full` does the same with StateDictType::kFull. `load` reads FOLDER at the number of ranks
// that it has, and prints the seconds of load_state(). `resume` reads it into a model that was
// built without memory, and prints the highest resident memory of a rank above that before the
// model was made.
#include <torch/nn/functional/loss.h>
#include <torch/optim/adamw.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "accel/accelerator.h"
#include "accel/without_memory.h"
#include "bench/worker/process_memory.h"
#include "bench/worker/transformer.h"

namespace {

template <typename Body>
double seconds(Body&& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void run(const std::string& mode, const std::string& folder, std::int64_t layers,
         std::int64_t width) {
  if (!mode.starts_with("save") && mode != "load" && mode != "resume") {
    throw std::invalid_argument("unknown mode " + mode);
  }
  at::set_num_threads(1);
  accel::ShardingOptions sharding = sharded_by_layer(accel::ShardingStrategy::kFullShard);
  if (mode == "save_full") sharding.state_dict_type = accel::StateDictType::kFull;
  accel::Accelerator accelerator({.sharding = sharding});
  torch::manual_seed(42);
  const double held = memory("VmRSS");
  const auto make = [&] { return Network(layers, width); };
  Network net = mode == "resume" ? accel::without_memory(make) : make();
  auto adamw = torch::optim::AdamW(net->parameters(), 1e-4);
  auto [model, optimizer] = accelerator.prepare(net, std::move(adamw));
  const torch::Tensor x = torch::randint(kVocabulary, {1, 16}, torch::kLong);
  const auto loss = [&model = model, &x] {
    return torch::nn::functional::cross_entropy(model(x).flatten(0, 1), x.flatten());
  };
  if (mode == "resume") {
    forget_highest_memory();
    accelerator.load_state(folder);
    const torch::Tensor growth = torch::tensor({memory("VmHWM") - held}, torch::kDouble);
    const auto most = accelerator.gather(growth).max().item<double>();
    if (!std::isfinite(loss().item<double>())) throw std::runtime_error("values are missing");
    if (accelerator.is_main_process()) std::printf("peak %.0f bytes\n", most);
    return;
  }
  if (mode == "load") {
    const double before = loss().item<double>();
    accelerator.wait_for_everyone();
    const double taken = seconds([&] { accelerator.load_state(folder); });
    if (loss().item<double>() == before) throw std::runtime_error("nothing was loaded");
    if (accelerator.is_main_process()) std::printf("load %.4f\n", taken);
    return;
  }
  accelerator.backward(loss());
  optimizer.step();
  optimizer.zero_grad();
  for (const bool is_timed : {false, true}) {
    accelerator.wait_for_everyone();
    double stall = 0;
    const double durable = seconds([&] {
      stall = seconds([&] { accelerator.save_state(folder); });
      accelerator.wait_for_save();
    });
    if (is_timed && accelerator.is_main_process()) {
      std::printf("stall %.4f\ndurable %.4f\n", stall, durable);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "sharded_save save|save_full|load|resume FOLDER LAYERS WIDTH\n");
    return 2;
  }
  try {
    run(argv[1], argv[2], std::stol(argv[3]), std::stol(argv[4]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sharded_save: %s\n", error.what());
    return 1;
  }
}
