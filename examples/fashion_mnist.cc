// Trains a small convolutional net on Fashion-MNIST, on one process or many:
//
//   fashion_mnist [--epochs N] [--batch_size N] [--data FOLDER] ...
//   accel launch --cpu --num_processes 2 fashion_mnist
//
// With --project DIR it saves a checkpoint after each epoch and resumes from the newest one.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <string>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "examples/fashion_mnist_data.h"

namespace F = torch::nn::functional;

namespace {

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(F::max_pool2d(conv1(x), F::MaxPool2dFuncOptions(2)));
    x = torch::relu(F::max_pool2d(conv2(x), F::MaxPool2dFuncOptions(2)));
    return fc2(torch::relu(fc1(x.flatten(1))));
  }

  torch::nn::Conv2d conv1{register_module("conv1", torch::nn::Conv2d(1, 16, 5))};
  torch::nn::Conv2d conv2{register_module("conv2", torch::nn::Conv2d(16, 32, 5))};
  torch::nn::Linear fc1{register_module("fc1", torch::nn::Linear(32 * 4 * 4, 128))};
  torch::nn::Linear fc2{register_module("fc2", torch::nn::Linear(128, 10))};
};
TORCH_MODULE(Net);

struct Flags {
  std::size_t epochs = 3, batch_size = 64;
  int accumulate = 1;
  double lr = 2e-3, max_norm = 5;
  std::string data = "/usr/share/datasets/fashion-mnist", project;
};

Flags parse(int argc, char** argv) {
  Flags flags;
  CLI::App app("Trains a convolutional net on Fashion-MNIST.");
  app.option_defaults()->always_capture_default();
  app.add_option("--epochs", flags.epochs, "passes over the data");
  app.add_option("--batch_size", flags.batch_size, "images per process and batch");
  app.add_option("--accumulate", flags.accumulate, "batches per step");
  app.add_option("--lr", flags.lr, "highest learning rate");
  app.add_option("--max_norm", flags.max_norm, "of the gradients");
  app.add_option("--data", flags.data, "folder of dataset-fashion-mnist");
  app.add_option("--project", flags.project, "folder of checkpoints; none: save nothing");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return flags;
}

template <typename Model, typename Loader>
void evaluate(accel::Accelerator& accelerator, Model& model, Loader& loader, std::size_t epoch) {
  model->eval();
  torch::NoGradGuard no_grad;
  std::int64_t correct = 0, samples = 0;
  for (auto& batch : loader) {
    auto [guesses, labels] =
        accelerator.gather_for_metrics(model(batch.data).argmax(1), batch.target);
    correct += (guesses == labels).sum().template item<std::int64_t>();
    samples += labels.size(0);
  }
  accelerator.print(std::fixed, std::setprecision(4), "epoch ", epoch, ": test accuracy ",
                    static_cast<double>(correct) / samples, " (", samples, " samples)");
}

void train(const Flags& flags) {
  accel::Accelerator accelerator(
      {.gradient_accumulation = {.num_steps = flags.accumulate},
       .project = {
           .project_dir = flags.project, .automatic_checkpoint_naming = true, .total_limit = 2}});
  torch::manual_seed(42);

  const auto dataset = [&](bool train) {
    return examples::FashionMnist(flags.data, train).map(torch::data::transforms::Stack<>());
  };
  Net net;
  auto adam = std::make_shared<torch::optim::Adam>(net->parameters(), flags.lr);
  auto train_set = accel::make_data_loader(dataset(true), flags.batch_size);
  // Counted in batches of one process. prepare() adapts it to the number of processes.
  const std::size_t steps = flags.epochs * train_set.size() / flags.accumulate;
  auto [model, optimizer, scheduler, train_loader, test_loader] = accelerator.prepare(
      net, adam, accel::Scheduler(adam, accel::linear_schedule(steps / 10, steps)), train_set,
      accel::make_data_loader<torch::data::samplers::SequentialSampler>(dataset(false), 250));

  if (!flags.project.empty() && accelerator.resume_from_newest()) {
    accelerator.print("resumed after epoch ", train_loader.epoch());
  }
  for (const std::size_t epoch : train_loader.epochs(flags.epochs)) {
    model->train();
    for (auto& batch : accelerator.progress(train_loader, "epoch " + std::to_string(epoch + 1))) {
      auto step = accelerator.accumulate(model);
      accelerator.backward(F::cross_entropy(model(batch.data), batch.target));
      if (accelerator.sync_gradients()) {
        accelerator.clip_grad_norm_(model->parameters(), flags.max_norm);
      }
      optimizer.step();
      scheduler.step();
      optimizer.zero_grad();
    }
    evaluate(accelerator, model, test_loader, epoch + 1);
    if (!flags.project.empty()) accelerator.save_state();
  }
  accelerator.end_training();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(parse(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "fashion_mnist: " << error.what() << std::endl;
    return 1;
  }
}
