// Records the operators that a constructor calls on a tape, in place of executing them
// (docs/decisions/0086).
#pragma once

#include <c10/core/DispatchKey.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <memory>
#include <vector>

namespace c10 {
class OperatorHandle;
struct IValue;
}  // namespace c10

namespace accel::runtime {

struct Tape;

// The key of LibTorch's dispatcher that it leaves to other libraries. Operators are intercepted
// inside of scopes, and outside of them if they use a recorded tensor.
inline constexpr c10::DispatchKey kInterceptedKey = c10::DispatchKey::Fake;

// While the scope lives, the operators of this thread are recorded, and tensors that they make have
// no memory. A scope inside of another one, of either kind, replaces it for a while.
class RecordingScope {
 public:
  RecordingScope();
  ~RecordingScope();
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

 private:
  const c10::impl::IncludeDispatchKeyGuard guard_;
  const std::shared_ptr<Tape> outer_;
};

// While it lives, this thread records nothing.
class NoRecordingScope {
 public:
  NoRecordingScope();
  ~NoRecordingScope();
  NoRecordingScope(const NoRecordingScope&) = delete;
  NoRecordingScope& operator=(const NoRecordingScope&) = delete;

 private:
  const std::shared_ptr<Tape> outer_;
};

// Handles an intercepted call if it belongs on a tape, or uses a tensor of one. Returns false,
// without any effect, if the caller must handle it.
//
// Throws std::invalid_argument in a scope for a call that cannot be repeated later: one with a
// generator or a storage of the program, on another device than the CPU, that reads a value, that
// writes unknown values to a tensor with memory, or that LibTorch has not implemented on "meta".
// Throws std::logic_error outside of scopes for a call that does more than make a view.
bool record(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
            std::vector<c10::IValue>* stack);

// Replaces each argument `device` of the call by "meta", and calls the operator.
void call_on_meta(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  std::vector<c10::IValue>* stack);

}  // namespace accel::runtime
