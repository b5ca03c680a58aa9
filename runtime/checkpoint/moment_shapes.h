// Compares an optimizer's moments in a checkpoint with the program's parameters, before
// anything is loaded.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "runtime/checkpoint/model_parts.h"
#include "weights/saved_folder.h"

namespace accel::runtime {

// Names of parameters by their identities. A tied parameter has its first name.
using ParameterNames = std::map<const void*, std::string>;

// Adds those parameters of a module that have no name yet.
void add_names(const torch::nn::Module& module, ParameterNames& names);

// Compares the groups and the whole shapes of all moments in the archive `file` with the parameters
// of the optimizer, which may be sharded. Reads no large moment and changes nothing. Throws
// CheckpointError, which names the file, the parameter and both shapes, if a shape differs. Also
// throws it if the file cannot be read. An optimizer without has_known_state() is not compared.
void check_moment_shapes(const std::filesystem::path& file,
                         const torch::optim::Optimizer& optimizer, const ParameterNames& names);

// Does the same for moments of a sharded checkpoint that are saved by the names of parameters.
// `saved` are the tensors in its folder `what`.
void check_moment_shapes(const weights::SavedTensors& saved, const std::string& what,
                         const torch::nn::Module& module);

}  // namespace accel::runtime
