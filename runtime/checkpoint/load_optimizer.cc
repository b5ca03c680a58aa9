#include "runtime/checkpoint/load_optimizer.h"

#include <ATen/core/grad_mode.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <utility>
#include <vector>

#include "runtime/checkpoint/archive_errors.h"
#include "runtime/checkpoint/lazy_archive.h"
#include "runtime/checkpoint/optimizer_moments.h"
#include "runtime/checkpoint/parallel_io.h"
#include "runtime/optim/optimizer_class.h"

namespace accel::runtime {
namespace {

namespace optim = torch::optim;
using torch::serialize::InputArchive;

template <typename... Kinds>
bool is_one_of(const optim::Optimizer& optimizer) {
  return ((dynamic_cast<const Kinds*>(&optimizer) != nullptr) || ...);
}

// Loads an optimizer and calls `finish`. First clears the state of LibTorch's classes, because
// their load() only adds what was saved. Moments of parameters that had none in the checkpoint
// would otherwise remain. Other classes are not cleared, because their load() may read into what
// their constructors have made. The load() of LibTorch's known classes counts as parsing, because
// it also meets damage with std::out_of_range.
void load_alone(const std::filesystem::path& file, optim::Optimizer& optimizer,
                InputArchive& archive, const std::function<void()>& finish) {
  if (!is_one_of<optim::Adam, optim::AdamW, optim::SGD, optim::Adagrad, optim::RMSprop,
                 optim::LBFGS>(optimizer)) {
    optimizer.load(archive);
    return finish();
  }
  auto before = std::exchange(optimizer.state(), {});
  try {
    const auto load = [&] { optimizer.load(archive); };
    has_known_state(optimizer) ? parse_archive(file, load) : load();
    finish();
  } catch (...) {
    optimizer.state() = std::move(before);
    throw;
  }
}

// Replaces moments of whole parameters by those of the elements that are held.
void keep_pieces(optim::Optimizer& optimizer, const HeldElements& held) {
  const torch::NoGradGuard no_graph;
  for (auto& [parameter, state] : optimizer.state()) {
    const auto range = held.find(parameter);
    if (range == held.end()) continue;
    for (torch::Tensor* moment : known_moments_of(*state)) {
      if (!moment->defined()) continue;
      *moment =
          moment->detach().reshape({-1}).slice(0, range->second.begin, range->second.end).clone();
    }
  }
}

void read_moments(const LazyArchive& archive, c10::Device device, optim::Optimizer& optimizer,
                  const HeldElements& held) {
  std::vector<std::pair<torch::Tensor*, const ElementRange*>> moments;
  for (auto& [parameter, state] : optimizer.state()) {
    const auto range = held.find(parameter);
    for (torch::Tensor* moment : known_moments_of(*state)) {
      if (!moment->defined()) continue;
      moments.emplace_back(moment, range == held.end() ? nullptr : &range->second);
    }
  }
  in_parallel(moments.size(), [&](std::size_t i) {
    const torch::NoGradGuard no_graph;
    const auto& [moment, range] = moments[i];
    *moment = (range != nullptr ? archive.read(*moment, *range) : archive.read(*moment)).to(device);
  });
}

}  // namespace

void load_archive(const std::filesystem::path& file, c10::Device device,
                  const std::function<void(InputArchive&)>& load) {
  InputArchive archive;
  parse_archive(file, [&] { archive.load_from(file.string(), device); });
  use_archive(file, [&] { load(archive); });
}

void load_optimizer(const std::filesystem::path& file, c10::Device device,
                    optim::Optimizer& optimizer, const HeldElements& held) {
  if (held.empty() || !has_known_state(optimizer)) {
    return load_archive(file, device, [&](InputArchive& archive) {
      load_alone(file, optimizer, archive, [&] { keep_pieces(optimizer, held); });
    });
  }
  LazyArchive archive(file);
  archive.load([&](InputArchive& input) {
    load_alone(file, optimizer, input, [&] { read_moments(archive, device, optimizer, held); });
  });
}

}  // namespace accel::runtime
