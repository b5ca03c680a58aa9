// Compares the moments that a checkpoint has of an optimizer with the program's parameters, before
// anything is loaded.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "runtime/checkpoint/model_parts.h"
#include "weights/saved_folder.h"

namespace accel::runtime {

// Names of parameters by their identities. Of a tied one it is the first name.
using ParameterNames = std::map<const void*, std::string>;

// Adds the parameters of a module that have no name yet.
void add_names(const torch::nn::Module& module, ParameterNames& names);

// Compares the groups and the whole shapes of all moments in the archive `file` with the parameters
// of the optimizer, which may be sharded. Reads no large moment and changes nothing. Throws
// CheckpointError, which names the file, the parameter and both shapes, if one differs, and if the
// file cannot be read. An optimizer without has_known_state() is not compared.
void check_moment_shapes(const std::filesystem::path& file,
                         const torch::optim::Optimizer& optimizer, const ParameterNames& names);

// Does the same for the moments that `saved`, the folder `what` of a sharded checkpoint, has by the
// names of parameters.
void check_moment_shapes(const weights::SavedTensors& saved, const std::string& what,
                         const torch::nn::Module& module);

}  // namespace accel::runtime
