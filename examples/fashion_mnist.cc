// Trains a small convolutional net on Fashion-MNIST, on one process or many:
//
//   fashion_mnist [--epochs N] [--batch_size N] [--data FOLDER]
//   accel launch --cpu --num_processes 2 fashion_mnist
#include <torch/torch.h>

#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <string>

#include "examples/fashion_mnist_data.h"
#include "runtime/accelerator.h"

namespace F = torch::nn::functional;

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
  int epochs = 3;
  int batch_size = 64;  // Per process.
  std::string data = "/usr/share/datasets/fashion-mnist";
};

Flags parse(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--epochs") flags.epochs = std::stoi(value);
    if (name == "--batch_size") flags.batch_size = std::stoi(value);
    if (name == "--data") flags.data = value;
  }
  return flags;
}

void train(const Flags& flags) {
  accel::Accelerator accelerator;
  torch::manual_seed(42);

  const auto dataset = [&](bool train) {
    return examples::FashionMnist(flags.data, train).map(torch::data::transforms::Stack<>());
  };
  auto net = Net();
  auto adam = torch::optim::Adam(net->parameters(), torch::optim::AdamOptions(2e-3));
  auto [model, optimizer, train_loader, test_loader] = accelerator.prepare(
      net, std::move(adam),
      accel::make_data_loader<torch::data::samplers::RandomSampler>(dataset(true),
                                                                    flags.batch_size),
      accel::make_data_loader<torch::data::samplers::SequentialSampler>(dataset(false), 250));

  for (int epoch = 1; epoch <= flags.epochs; ++epoch) {
    model->train();
    for (auto& batch : accelerator.progress(train_loader, "epoch " + std::to_string(epoch))) {
      optimizer.zero_grad();
      auto loss = F::cross_entropy(model(batch.data), batch.target);
      accelerator.backward(loss);
      optimizer.step();
    }

    model->eval();
    torch::NoGradGuard no_grad;
    std::int64_t correct = 0, samples = 0;
    for (auto& batch : test_loader) {
      auto [guesses, labels] =
          accelerator.gather_for_metrics(model(batch.data).argmax(1), batch.target);
      correct += (guesses == labels).sum().item<std::int64_t>();
      samples += labels.size(0);
    }
    accelerator.print(std::fixed, std::setprecision(4), "epoch ", epoch, ": test accuracy ",
                      static_cast<double>(correct) / samples, " (", samples, " samples)");
  }
}

int main(int argc, char** argv) {
  try {
    train(parse(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "fashion_mnist: " << error.what() << std::endl;
    return 1;
  }
}
