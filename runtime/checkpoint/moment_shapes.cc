#include "runtime/checkpoint/moment_shapes.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "accel/errors.h"
#include "runtime/checkpoint/archive_errors.h"
#include "runtime/checkpoint/lazy_archive.h"
#include "runtime/optim/optimizer_class.h"
#include "weights/core/box.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using torch::optim::Optimizer;
using torch::serialize::InputArchive;

void expect_same(const std::string& file, const std::string& moment, const std::string& parameter,
                 const weights::Shape& saved, const torch::Tensor& tensor) {
  const weights::Shape shape = tensor.sizes().vec();
  if (saved == shape) return;
  throw CheckpointError(file + ": " + moment + " of " + parameter + " has shape " +
                        weights::text_of(saved) + " there and " + weights::text_of(shape) +
                        " in this program: give the optimizer its parameters in the order of the "
                        "run that saved");
}

std::int64_t read_number(InputArchive& archive, const std::string& key) {
  torch::Tensor number;
  archive.read(key, number);
  return number.item<std::int64_t>();
}

void expect_count(const std::string& file, const std::string& what, std::int64_t saved,
                  std::size_t here) {
  if (saved == static_cast<std::int64_t>(here)) return;
  throw CheckpointError(file + ": the optimizer has " + std::to_string(saved) + " " + what +
                        " there and " + std::to_string(here) +
                        " in this program: make it as the run that saved did");
}

// Compares the tensors in the state of a parameter, which are its moments.
void check_state(const std::string& file, InputArchive& state, const std::string& name,
                 const torch::Tensor& parameter) {
  for (const std::string& key : state.keys()) {
    c10::IValue value;
    if (!state.try_read(key, value) || !value.isTensor() || !value.toTensor().defined()) continue;
    expect_same(file, key, name, value.toTensor().sizes().vec(), parameter);
  }
}

// An archive numbers the states, and its groups map each parameter to such a number
// (torch/optim/serialize.h). Optimizer::load() would replace the options of groups in place, so it
// cannot be called for a trial.
void check_archive(const std::string& file, InputArchive& archive, const Optimizer& optimizer,
                   const ParameterNames& names) {
  InputArchive states, groups;
  archive.read("state", states);
  archive.read("param_groups", groups);
  const auto& here = optimizer.param_groups();
  expect_count(file, "groups", read_number(groups, "param_groups/size"), here.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    const std::vector<torch::Tensor>& parameters = here[i].params();
    InputArchive group;
    groups.read("param_groups/" + std::to_string(i), group);
    expect_count(file, "parameters in group " + std::to_string(i),
                 read_number(group, "params/size"), parameters.size());
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      c10::IValue number;
      group.read("params/" + std::to_string(k), number);
      InputArchive state;
      if (!states.try_read(number.toStringRef(), state)) continue;
      const auto name = names.find(parameters[k].unsafeGetTensorImpl());
      check_state(file, state,
                  name != names.end()
                      ? name->second
                      : "parameter " + std::to_string(k) + " of group " + std::to_string(i),
                  parameters[k]);
    }
  }
}

}  // namespace

void add_names(const torch::nn::Module& module, ParameterNames& names) {
  for (const auto& item : module.named_parameters()) {
    if (item.value().defined()) names.emplace(item.value().unsafeGetTensorImpl(), item.key());
  }
}

void check_moment_shapes(const fs::path& file, const Optimizer& optimizer,
                         const ParameterNames& names) {
  if (!has_known_state(optimizer)) return;
  LazyArchive archive(file);
  archive.load([&](InputArchive& input) {
    parse_archive(file, [&] { check_archive(file.string(), input, optimizer, names); });
  });
}

void check_moment_shapes(const weights::SavedTensors& saved, const std::string& what,
                         const torch::nn::Module& module) {
  for (const auto& item : module.named_parameters()) {
    if (!item.value().defined()) continue;
    const std::string prefix = moment_name(item.key(), "");
    for (auto one = saved.tensors.lower_bound(prefix);
         one != saved.tensors.end() && one->first.starts_with(prefix); ++one) {
      const std::string moment = one->first.substr(prefix.size());
      if (moment.find('.') != std::string::npos) continue;  // Of another parameter.
      expect_same(what, moment, item.key(), one->second.shape, item.value());
    }
  }
}

}  // namespace accel::runtime
