// Executes the operators of a tape.
#pragma once

#include <c10/core/Storage.h>

#include <cstddef>
#include <functional>
#include <map>
#include <set>

#include "runtime/recording/libtorch.h"
#include "runtime/recording/tape.h"

namespace accel::runtime {

// Executes the operators that the wanted slots need, on the CPU. Calls `deliver` with the memory of
// each wanted slot once its values are final. Memory is freed after its last use, so seldom more
// than one tensor exists. Random numbers are drawn from the CPU's generator, which is set to
// `states` at these steps. `states` are those of the tape, or those of another rank.
//
// Afterwards the generator has the state that it had before. If nothing was drawn since the tape
// was recorded, it instead has the state in which the constructors would have left it.
//
// Rethrows what an operator or `deliver` throws. The generator then has the state from before.
void replay(Tape& tape, const std::map<std::size_t, at::Tensor>& states,
            const std::set<int>& wanted,
            const std::function<void(int slot, const c10::Storage& memory)>& deliver);

// Returns the tensor that an operand stands for, as a view of the memory.
at::Tensor view_of(const c10::Storage& memory, const Operand& operand);

}  // namespace accel::runtime
