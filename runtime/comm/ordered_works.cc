#include "runtime/comm/ordered_works.h"

#include <ATen/ThreadLocalState.h>

#include <exception>
#include <utility>

namespace accel::runtime {
namespace {

using c10d::OpType;
using c10d::Work;
using Tensors = std::vector<at::Tensor>;

// A call and its result.
class OrderedWork final : public Work {
 public:
  OrderedWork(int rank, OpType type, Tensors outputs, CallBody body)
      : Work(rank, type),
        outputs_(std::move(outputs)),
        body_(std::move(body)),
        future_(c10::make_intrusive<c10::ivalue::Future>(
            c10::ListType::create(c10::TensorType::get()))) {}

  // Returns true if the call has ended. An exception ends it, too.
  bool run(bool may_wait) {
    try {
      if (!body_(may_wait)) return false;
    } catch (...) {
      error_ = std::current_exception();
    }
    body_ = nullptr;
    return true;
  }

  // Wakes the threads that wait for the call, and runs its callbacks. Called once, after run()
  // has returned true.
  void report() {
    finish(error_);
    error_ == nullptr ? future_->markCompleted(c10::IValue(outputs_)) : future_->setError(error_);
  }

  Tensors result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  const Tensors outputs_;
  CallBody body_;
  std::exception_ptr error_;
  const c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// Makes `function` run in the state of the thread that made the call, such as its autograd mode:
// an in-place operation on a parameter must not be recorded only because another thread runs it.
template <typename Function>
std::function<void()> with_state_of_this_thread(Function function) {
  return [state = at::ThreadLocalState(), function = std::move(function)] {
    const at::ThreadLocalStateGuard guard(state);
    function();
  };
}

}  // namespace

c10::intrusive_ptr<Work> OrderedWorks::call(OpType type, Tensors outputs, CallStart start,
                                            CallBody body) {
  auto work = c10::make_intrusive<OrderedWork>(rank_, type, std::move(outputs), std::move(body));
  const bool here = start != CallStart::kOnThread && calls_.try_begin();
  if (here && work->run(/*may_wait=*/start == CallStart::kHere)) {
    calls_.end();
    work->report();
    return work;
  }
  auto rest = with_state_of_this_thread([work] { work->run(/*may_wait=*/true); });
  auto report = with_state_of_this_thread([work] { work->report(); });
  here ? calls_.continue_on_thread(std::move(rest), std::move(report))
       : calls_.add(std::move(rest), std::move(report));
  return work;
}

}  // namespace accel::runtime
