#include "runtime/process/process_control.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/core/call_check.h"
#include "runtime/error_text.h"
#include "runtime/process/generator_state.h"
#include "runtime/process/process_state.h"

namespace accel::runtime {
namespace {

constexpr char kDebugAdvice[] =
    ". With AcceleratorOptions::debug, or ACCELERATE_DEBUG_MODE=1, errors say what each rank "
    "brings";

}  // namespace

ProcessControl::ProcessControl(std::shared_ptr<ProcessState> state, bool debug)
    : state_(std::move(state)), debug_(debug) {}

int ProcessControl::num_processes() const { return state_->environment.world_size; }
int ProcessControl::process_index() const { return state_->environment.rank; }
int ProcessControl::local_process_index() const { return state_->environment.local_rank; }
c10::Device ProcessControl::device() const { return state_->device; }

std::unique_ptr<ProgressMeter> ProcessControl::progress_meter(
    std::string label, std::optional<std::size_t> total) const {
  if (local_process_index() != 0) return nullptr;
  return std::make_unique<ProgressMeter>(std::move(label), total,
                                         state_->environment.terminal_columns);
}

// The comparison is a collective too, so that a rank that calls another operation gets an error
// instead of hanging.
OperationScope ProcessControl::begin_operation(const char* operation,
                                               const std::vector<at::Tensor>& tensors,
                                               std::optional<std::int64_t> free_dimension) const {
  if (state_->uneven_inputs != nullptr) {
    throw std::logic_error(std::string(operation) +
                           "() inside join_uneven_inputs() would wait forever for the processes "
                           "that have ended: call it after join_uneven_inputs()");
  }
  if (use_distributed() && debug_) {
    const OperationScope scope(state_->communicator.get(), operation);
    CallShape call{.operation = operation, .free_dimension = free_dimension};
    for (const at::Tensor& tensor : tensors) {
      call.tensors.push_back({c10::toString(tensor.scalar_type()), tensor.sizes().vec()});
    }
    const auto text = describe_mismatch(state_->communicator->all_gather_bytes(describe(call)));
    if (text) throw DistributedOperationError(*text);
  }
  return OperationScope(state_->communicator.get(), operation, debug_ ? "" : kDebugAdvice);
}

void ProcessControl::wait_for_everyone() const {
  if (!use_distributed()) return;
  const auto operation = begin_operation("wait_for_everyone");
  state_->communicator->barrier();
}

void ProcessControl::await_first(const char* name, std::exception_ptr error) const {
  if (!use_distributed()) return;
  const auto operation = begin_operation(name);
  // An empty text stands for success. The space makes the text of any error non-empty.
  const std::string own = error ? " " + error_text(error) : "";
  const std::vector<std::string> ends = state_->communicator->all_gather_bytes(own);
  if (error) return;
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    if (ends[rank].empty()) continue;
    throw std::runtime_error(std::string(name) + ": it failed on rank " + std::to_string(rank) +
                             ":" + ends[rank]);
  }
}

void ProcessControl::note_failure(const char* operation, std::exception_ptr error) const {
  if (!use_distributed()) return;
  state_->communicator->note_failure(std::string(operation) + ", which threw '" +
                                     error_text(error) + "',");
}

void ProcessControl::set_trigger() const { state_->triggered = true; }

bool ProcessControl::check_trigger() const {
  bool triggered = state_->triggered;
  if (use_distributed()) {
    const auto operation = begin_operation("check_trigger");
    const auto all = state_->communicator->all_gather_number(triggered ? 1 : 0);
    triggered = std::count(all.begin(), all.end(), 1) > 0;
  }
  if (triggered) state_->triggered = false;
  return triggered;
}

void ProcessControl::set_seed(std::uint64_t seed, bool device_specific) const {
  seed_generators(seed + (device_specific ? static_cast<std::uint64_t>(process_index()) : 0));
}

void ProcessControl::synchronize_rng_states() const {
  if (!use_distributed()) return;
  const auto operation = begin_operation("synchronize_rng_states");
  std::vector<c10::Device> devices{c10::kCPU};
  if (device().is_cuda()) devices.push_back(device());
  synchronize_generators(*state_->communicator, devices);
}

}  // namespace accel::runtime
