// The names of the folders and files that a checkpoint is made of. Numbered files follow
// Accelerate: the first has no number ("model", "model_1", ...).
//
// clang-format off
//   checkpoints/checkpoint_7/manifest.json                every other file, its size and checksum
//                            model[_i].safetensors        prepared models
//                            gradients[_i].safetensors    inside a window of accumulation only
//                            optimizer[_i].bin            prepared optimizers: LibTorch archives
//                            model[_i]/shard-*            in place of these files if every rank
//                            gradients[_i]/shard-*        writes its part of a sharded model; then
//                            optimizer[_i][_of_model_j]/  optimizer.bin has all but the moments
//                            custom_checkpoint_i.bin      registered objects: LibTorch archives
//                            random_states_r.safetensors  random number generators of rank r
//                            training_state.json          the rest: epochs, counts, scales
//   checkpoints/checkpoint_8.partial/   being written, or left by a crash
//               checkpoint_8.replaced/  the older one while a newer one takes its name, if the
//                                       file system cannot exchange two names
// clang-format on
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accel::runtime {

inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kTrainingStateFile[] = "training_state.json";
inline constexpr char kPartialSuffix[] = ".partial";
inline constexpr char kReplacedSuffix[] = ".replaced";

std::string model_file(std::size_t i);
std::string gradients_file(std::size_t i);
std::string optimizer_file(std::size_t i);
std::string custom_file(std::size_t i);
// The folders of parts that ranks write (weights/core/shard_files.h). The last one has the moments
// that optimizer i keeps for parameters of a model.
std::string model_folder(std::size_t i);
std::string gradients_folder(std::size_t i);
std::string moments_folder(std::size_t i, std::size_t model);
std::string random_states_file(std::size_t rank);

// Returns the folder name of an automatically named checkpoint, such as "checkpoint_7".
std::string checkpoint_name(std::uint64_t iteration);

// Returns the number in "checkpoint_7", or nullopt for any other name.
std::optional<std::uint64_t> iteration_of(std::string_view name);

// Returns the checkpoints among `names`, oldest first by number.
std::vector<std::string> checkpoints_among(const std::vector<std::string>& names);

// Returns, in the order of `names`, the checkpoints of which `names` has "checkpoint_N" followed by
// `suffix`. They are returned without the suffix.
std::vector<std::string> checkpoints_with_suffix(const std::vector<std::string>& names,
                                                 std::string_view suffix);

// Returns the number for the next checkpoint next to `names`: one more than the highest existing
// one (damaged ones included), or 0 if there is none. No number is used twice
// (docs/decisions/0016).
std::uint64_t next_checkpoint_number(const std::vector<std::string>& names);

}  // namespace accel::runtime
