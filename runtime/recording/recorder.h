// Records the operators that a constructor calls on a tape, instead of
// executing them (docs/decisions/0086).
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

// The key by which operators are intercepted. LibTorch's dispatcher leaves it to other libraries.
// Operators are intercepted inside of scopes, and outside of scopes if they use a recorded tensor.
inline constexpr c10::DispatchKey kInterceptedKey = c10::DispatchKey::Fake;

// While the scope lives, the operators of this thread are recorded, and tensors that they make have
// no memory. A scope of either kind inside of another scope replaces that scope until it ends.
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

// While the scope lives, this thread records nothing.
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
// In a scope, throws std::invalid_argument for a call that cannot be repeated later. Such a call
// uses a generator or a storage of the program, or another device than the CPU. Or it reads a
// value, writes unknown values to a tensor with memory, or is not implemented on "meta". Outside of
// scopes, throws std::logic_error for a call that does more than make a view.
bool record(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
            std::vector<c10::IValue>* stack);

// Replaces each argument `device` of the call by "meta", and calls the operator.
void call_on_meta(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  std::vector<c10::IValue>* stack);

}  // namespace accel::runtime
