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

// Executes what the wanted slots need on the CPU, and calls `deliver` with the memory of each of
// them once it is final. Memory is freed after its last use, so that seldom more than one tensor
// exists. Random numbers are drawn from the CPU's generator, which begins in `states`, by step: the
// tape's own, or those of another rank.
//
// Afterwards the generator is in the state that it had before; if nothing was drawn since the tape
// was recorded, in the one in which the constructors would have left it.
//
// Rethrows what an operator or `deliver` throws. The generator then has the state from before.
void replay(Tape& tape, const std::map<std::size_t, at::Tensor>& states,
            const std::set<int>& wanted,
            const std::function<void(int slot, const c10::Storage& memory)>& deliver);

// Returns the tensor that an operand stands for, as a view of the memory.
at::Tensor view_of(const c10::Storage& memory, const Operand& operand);

}  // namespace accel::runtime
