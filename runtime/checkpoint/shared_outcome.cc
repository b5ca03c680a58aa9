#include "runtime/checkpoint/shared_outcome.h"

#include <algorithm>
#include <exception>
#include <string>

#include "accel/errors.h"
#include "runtime/error_text.h"

namespace accel::runtime {
namespace {

std::exception_ptr error_of(const std::function<void()>& body) {
  try {
    body();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

void run_on_main_rank(const ProcessState& process, const std::function<void()>& body) {
  const std::exception_ptr error = process.environment.rank == 0 ? error_of(body) : nullptr;
  Communicator* const communicator = process.communicator.get();
  if (communicator == nullptr) {
    if (error) std::rethrow_exception(error);
    return;
  }
  if (communicator->broadcast_number(error != nullptr) == 0) return;
  const std::string reason = communicator->broadcast_bytes(error_text(error), 0);
  if (error) std::rethrow_exception(error);
  throw CheckpointError("rank 0: " + reason);
}

void run_on_every_rank(const ProcessState& process, const std::function<void()>& body) {
  const std::exception_ptr error = error_of(body);
  Communicator* const communicator = process.communicator.get();
  if (communicator != nullptr) {
    const auto failures = communicator->all_gather_number(error != nullptr);
    const auto first = std::find(failures.begin(), failures.end(), 1);
    if (first == failures.end()) return;
    const auto rank = static_cast<std::size_t>(first - failures.begin());
    const auto reasons = communicator->all_gather_bytes(error_text(error));
    if (!error) throw CheckpointError("rank " + std::to_string(rank) + ": " + reasons[rank]);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace accel::runtime
