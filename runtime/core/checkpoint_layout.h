// The names of what a checkpoint is made of, and which checkpoints of a folder are kept. Numbered
// files follow Accelerate: the first has no number ("model", "model_1", ...).
//
//   checkpoints/checkpoint_7/manifest.json                every other file, its size and checksum
//                            model[_i].safetensors        prepared models
//                            gradients[_i].safetensors    inside a window of accumulation only
//                            optimizer[_i].bin            prepared optimizers: LibTorch's archives
//                            custom_checkpoint_i.bin      registered objects, likewise
//                            random_states_r.safetensors  random number generators of rank r
//                            training_state.json          all the rest: epochs, counts, scales
//   checkpoints/checkpoint_8.partial/   being written, or left by a crash
//               checkpoint_8.replaced/  the older one while a newer one takes its name, where the
//                                       file system cannot exchange the two
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace accel {

inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kTrainingStateFile[] = "training_state.json";
inline constexpr char kPartialSuffix[] = ".partial";
inline constexpr char kReplacedSuffix[] = ".replaced";

std::string model_file(std::size_t i);
std::string gradients_file(std::size_t i);
std::string optimizer_file(std::size_t i);
std::string custom_file(std::size_t i);
std::string random_states_file(std::size_t rank);

// "checkpoint_7".
std::string checkpoint_name(std::uint64_t iteration);

// The number in "checkpoint_7"; none for any other name.
std::optional<std::uint64_t> iteration_of(std::string_view name);

// The checkpoints among `names`, oldest first by number.
std::vector<std::string> checkpoints_among(const std::vector<std::string>& names);

// Those among `names` that have to go so that `total_limit` (at least 1) stay: first those that are
// `torn`, then the oldest, but never `written`, the one that was saved last, whatever its number.
std::vector<std::string> checkpoints_to_remove(const std::vector<std::string>& names,
                                               const std::string& written,
                                               std::optional<std::size_t> total_limit,
                                               const std::set<std::string>& torn = {});

}  // namespace accel
