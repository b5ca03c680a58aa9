// Loads optimizers from their archives in a checkpoint, which snapshot.h makes.
#pragma once

#include <c10/core/Device.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <filesystem>
#include <functional>
#include <map>

#include "runtime/core/sharding/flat_layout.h"

namespace accel::runtime {

// The elements of flattened parameters that this rank holds, by the identities of the parameters. A
// parameter that is not in the map is held as a whole.
using HeldElements = std::map<const void*, ElementRange>;

// Opens an archive, with its tensors on `device`, and passes it to `load`. Throws
// CheckpointError, which names the file, if it cannot be read, or if LibTorch throws in `load`
// because it does not fit.
void load_archive(const std::filesystem::path& file, c10::Device device,
                  const std::function<void(torch::serialize::InputArchive&)>& load);

// Loads an optimizer. Afterwards it has exactly the state that was saved. For a parameter in
// `held`, it has only those elements of the moments that this rank holds. If this throws, the
// optimizer keeps the moments and step counts that it had, but the options of its groups may
// already be the saved ones. An optimizer whose class is not derived from LibTorch's own loads
// itself as its class defines.
//
// If `held` is not empty, bytes of other elements are neither read nor take memory, with three
// exceptions that are read whole. These are moments below 64 KiB, moments whose elements have
// another order in memory (channels_last), and all moments of an optimizer of a further class. The
// known classes are exactly SGD, Adam, AdamW, Adagrad and RMSprop, of LibTorch or of accel/optim.h.
//
// Throws as load_archive() does, and std::invalid_argument if the state of a parameter in `held` is
// of an unknown class.
void load_optimizer(const std::filesystem::path& file, c10::Device device,
                    torch::optim::Optimizer& optimizer, const HeldElements& held = {});

}  // namespace accel::runtime
