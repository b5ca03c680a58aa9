#include "runtime/parallel/parameter_check.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "runtime/comm/communicator.h"

namespace accel::runtime {
namespace {

// Size of the pieces that are digested one after another, so that a GPU needs little memory in
// addition to the parameter. A multiple of kWordBytes.
constexpr std::int64_t kPieceBytes = 32 << 20;
constexpr std::int64_t kWordBytes = sizeof(std::uint64_t);

std::string shape_of(const at::Tensor& tensor) {
  std::ostringstream text;
  text << c10::toString(tensor.scalar_type()) << ' ' << tensor.sizes();
  return text.str();
}

at::Tensor dense(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach();
  return (plain.layout() == at::kStrided ? plain : plain.to_dense()).contiguous();
}

// x ^ (x >> kDigestShift)
void mix(at::Tensor& x) { x.bitwise_xor_(x.bitwise_right_shift(kDigestShift)); }

std::vector<std::uint64_t> numbers_of(const std::string& bytes) {
  std::vector<std::uint64_t> numbers(bytes.size() / sizeof(std::uint64_t));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(std::uint64_t));
  return numbers;
}

std::string bytes_of(const std::vector<std::uint64_t>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::uint64_t)};
}

}  // namespace

at::Tensor digest_on_device(const at::Tensor& tensor) {
  const at::NoGradGuard no_graph;
  const at::Tensor plain = dense(tensor);
  const auto words = at::TensorOptions(plain.device()).dtype(at::kLong);
  at::Tensor sum = at::zeros({}, words);
  if (plain.numel() == 0) return sum;
  const at::Tensor bytes = plain.view({-1}).view(at::kByte);
  for (std::int64_t begin = 0; begin < bytes.numel(); begin += kPieceBytes) {
    const std::int64_t size = std::min(kPieceBytes, bytes.numel() - begin);
    const std::int64_t first = begin / kWordBytes, count = (size + kWordBytes - 1) / kWordBytes;
    const at::Tensor filled = at::zeros({count * kWordBytes}, bytes.options());
    filled.narrow(0, 0, size).copy_(bytes.narrow(0, begin, size));
    at::Tensor x = at::arange(first, first + count, words).mul_(kDigestStep);
    x.add_(filled.view(at::kLong));
    mix(x);
    x.mul_(kDigestFactor);
    mix(x);
    sum.add_(x.sum());
  }
  return sum;
}

ParameterCheck::ParameterCheck(const ParameterCheckOptions& options, bool debug)
    : options_(options), debug_(debug) {
  if (options.every_steps < 0) {
    throw std::invalid_argument("parameter_check.every_steps = " +
                                std::to_string(options.every_steps) + " should be at least 0");
  }
}

void ParameterCheck::add_model(std::shared_ptr<torch::nn::Module> module,
                               const std::shared_ptr<ParallelStrategy>& strategy) {
  const auto known = std::find_if(models_.begin(), models_.end(),
                                  [&](const Model& model) { return model.module == module; });
  if (known == models_.end()) models_.push_back({std::move(module), strategy});
}

void ParameterCheck::add_optimizer(std::shared_ptr<torch::optim::Optimizer> optimizer) {
  if (std::find(optimizers_.begin(), optimizers_.end(), optimizer) == optimizers_.end()) {
    optimizers_.push_back(std::move(optimizer));
  }
}

void ParameterCheck::clear() {
  models_.clear();
  optimizers_.clear();
}

// The first comparison is before the second pass, because most mistakes show after the first step.
void ParameterCheck::begin_pass(Communicator& communicator) {
  if (!debug_ || options_.every_steps == 0) return;
  const bool is_due = passes_ % options_.every_steps == 1 % options_.every_steps;
  if (!is_due || compared_ == passes_) return;
  compare(communicator);
  compared_ = passes_;
}

void ParameterCheck::begin_save(Communicator& communicator) const {
  if (options_.at_save) compare(communicator);
}

std::vector<ParameterCheck::Parameter> ParameterCheck::parameters() const {
  std::vector<Parameter> out;
  std::unordered_set<const void*> seen;
  for (const Model& model : models_) {
    const auto strategy = model.strategy.lock();
    // The ranks of a sharded model have different parts.
    const bool apart =
        strategy != nullptr && (strategy->may_train_apart() || strategy->is_sharded());
    for (const auto& item : model.module->named_parameters()) {
      const at::Tensor& tensor = item.value();
      if (!tensor.defined() || !seen.insert(tensor.unsafeGetTensorImpl()).second || apart) continue;
      out.push_back({item.key() + " of " + model.module->name() + ": " + shape_of(tensor), tensor});
    }
  }
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    std::size_t place = 0;
    for (const auto& group : optimizers_[i]->param_groups()) {
      for (const at::Tensor& tensor : group.params()) {
        const std::string name = "parameter " + std::to_string(place++) +
                                 " of prepared optimizer " + std::to_string(i) +
                                 ", which no prepared model has: ";
        if (!tensor.defined() || !seen.insert(tensor.unsafeGetTensorImpl()).second) continue;
        out.push_back({name + shape_of(tensor), tensor});
      }
    }
  }
  return out;
}

std::vector<ParameterDigest> ParameterCheck::digests() const {
  std::vector<ParameterDigest> out;
  std::vector<std::size_t> elsewhere;  // Not on the CPU; read together.
  std::vector<at::Tensor> sums;
  for (const Parameter& parameter : parameters()) {
    out.push_back({.text = parameter.text});
    if (!parameter.tensor.device().is_cpu()) {
      elsewhere.push_back(out.size() - 1);
      sums.push_back(digest_on_device(parameter.tensor));
      continue;
    }
    const at::Tensor plain = dense(parameter.tensor);
    const auto* begin = static_cast<const std::byte*>(plain.const_data_ptr());
    out.back().bytes = digest_of({begin, plain.nbytes()});
  }
  if (sums.empty()) return out;
  const at::Tensor here = at::stack(sums).cpu();
  for (std::size_t i = 0; i < elsewhere.size(); ++i) {
    out[elsewhere[i]].bytes = static_cast<std::uint64_t>(here.const_data_ptr<std::int64_t>()[i]);
  }
  return out;
}

// If the ranks agree, one all-gather of a combined digest shows it. Otherwise each rank looks for
// its first parameter that differs from rank 0's. All ranks describe the parameter at the lowest of
// these places, so that all throw the same error.
void ParameterCheck::compare(Communicator& communicator) const {
  const OperationScope operation(&communicator, "the comparison of parameters");
  const std::vector<ParameterDigest> parameters = digests();
  const std::vector<std::uint64_t> mine = digests_of(parameters);
  const auto all = communicator.all_gather_number(static_cast<std::int64_t>(combined(mine)));
  if (std::count(all.begin(), all.end(), all[0]) == static_cast<std::int64_t>(all.size())) return;
  const auto first =
      first_difference(mine, numbers_of(communicator.broadcast_bytes(bytes_of(mine), 0)));
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  const auto firsts =
      communicator.all_gather_number(first ? static_cast<std::int64_t>(*first) : kNone);
  const auto place = static_cast<std::size_t>(*std::min_element(firsts.begin(), firsts.end()));
  throw ParametersDiffer(differing_parameter(communicator.all_gather_bytes(
      place < parameters.size() ? description_of(parameters[place]) : "no further parameter")));
}

}  // namespace accel::runtime
