#include "runtime/step/uneven_join.h"

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/optim/gradient_origin.h"
#include "runtime/parallel/uneven_inputs.h"
#include "runtime/process/process_state.h"

namespace accel::runtime {
namespace {

// The process is inside join_uneven_inputs() while the scope lives.
class JoinScope {
 public:
  JoinScope(ProcessState& process, std::shared_ptr<UnevenInputs> inputs, const JoinOptions& options)
      : process_(process), even_batches_(process.loaders->even_batches) {
    process_.uneven_inputs = std::move(inputs);
    if (options.even_batches) process_.loaders->even_batches = options.even_batches;
  }
  ~JoinScope() {
    process_.uneven_inputs = nullptr;
    process_.loaders->even_batches = even_batches_;
  }
  JoinScope(const JoinScope&) = delete;
  JoinScope& operator=(const JoinScope&) = delete;

 private:
  ProcessState& process_;
  const std::optional<bool> even_batches_;
};

}  // namespace

std::optional<int> run_uneven(ProcessState& process, const std::function<void()>& body,
                              const JoinOptions& options) {
  if (process.uneven_inputs != nullptr) {
    throw std::logic_error("join_uneven_inputs() was called inside join_uneven_inputs()");
  }
  const auto inputs = std::make_shared<UnevenInputs>(process.models.all(), process.communicator);
  const JoinScope scope(process, inputs, options);
  try {
    body();
  } catch (const std::exception& error) {
    process.communicator->note_failure("join_uneven_inputs, which threw '" +
                                       std::string(error.what()) + "',");
    throw;
  }
  // Passes that are made for the other ranks add nothing to this rank's gradients, so these
  // gradients still count as reduced.
  const BackwardPassScope shadows(process.gradients, GradientOrigin::kReduced);
  return inputs->finish();
}

}  // namespace accel::runtime
