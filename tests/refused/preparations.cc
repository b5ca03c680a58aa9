// Correct and wrong statements of programs. See refused_test.py.

#include <torch/data/dataloader.h>
#include <torch/data/datasets/mnist.h>
#include <torch/data/samplers/distributed.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/optim/schedulers/reduce_on_plateau_scheduler.h>
#include <torch/optim/schedulers/step_lr.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <utility>

#include "accel/accelerator.h"
#include "accel/data_loader.h"

namespace {

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor input) { return input; }
};
TORCH_MODULE(Net);

struct Numbers : torch::data::datasets::Dataset<Numbers> {
  torch::data::Example<> get(std::size_t) override { return {}; }
  torch::optional<std::size_t> size() const override { return 8; }
};

void right(accel::Accelerator& accelerator) {
  accel::Accelerator by_name({.mixed_precision = "bf16"});
  accel::Accelerator by_value({.mixed_precision = accel::MixedPrecision::kBf16});
  Net net;
  torch::optim::SGD sgd(net->parameters(), 0.1);
  auto [model, optimizer] = accelerator.prepare(net, std::move(sgd));
  accelerator.prepare(std::make_shared<NetImpl>());
  accelerator.prepare(std::make_unique<torch::optim::SGD>(net->parameters(), 0.1));
  auto loader = accelerator.prepare(accel::make_data_loader(Numbers(), 2));
  for (auto& batch : *loader) batch.clear();
  decltype(loader) later;
  later = loader;
}

void wrong(accel::Accelerator& accelerator) {
  // refused: mixed_precision is an accel::MixedPrecision
  accel::Accelerator precise({.mixed_precision = true});
  Net net;
  NetImpl by_value;
  torch::optim::SGD sgd(net->parameters(), 0.1);
  torch::optim::StepLR step_lr(sgd, 1);
  // refused: a copy of a module that is given by value
  accelerator.prepare(by_value);
  // refused: a copy of a module that is given by value
  accelerator.prepare(NetImpl());
  // refused: prepare() shares the module
  accelerator.prepare(&by_value);
  // refused: prepare() shares the module
  accelerator.prepare(std::make_unique<NetImpl>());
  // refused: an AnyModule hides how its module is called
  accelerator.prepare(torch::nn::AnyModule(net));
  // refused: a TorchScript module
  accelerator.prepare(torch::jit::Module());
  // refused: accelerator.save() needs #include "accel/save.h"
  accelerator.save(net, "net.pt");
  // refused: prepare() shares the optimizer
  accelerator.prepare(&sgd);
  // refused: prepare() shares the scheduler
  accelerator.prepare(&step_lr);
  // refused: prepare(std::move(optimizer))
  accelerator.prepare(sgd);
  // refused: step it by yourself
  accelerator.prepare(torch::optim::ReduceLROnPlateauScheduler(sgd));
  // refused: accel::make_data_loader()
  accelerator.prepare(torch::data::make_data_loader(Numbers(), 2));
  // refused: so does a DistributedSampler
  accelerator.prepare(
      accel::make_data_loader(Numbers(), torch::data::samplers::DistributedRandomSampler(8), 2));
}

void wrong_steps(accel::Optimizer<torch::optim::Adam> optimizer,
                 accel::TorchScheduler<torch::optim::StepLR> scheduler) {
  // refused: use of deleted function
  optimizer->step();
  // refused: use of deleted function
  optimizer->zero_grad();
  // refused: use of deleted function
  scheduler->step();
}

}  // namespace
