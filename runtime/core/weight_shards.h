// How a model's weights are divided into files, and the index that says where each one is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace accel {

// A number of bytes; from an integer, or a text such as "500MB" or "1.5GB" (powers of 1000: KB, MB,
// GB, TB, in any case). Throws std::invalid_argument for other texts.
struct ByteSize {
  ByteSize(std::uint64_t size) : bytes(size) {}  // NOLINT: as in "10GB".
  ByteSize(const char* text);                    // NOLINT
  ByteSize(const std::string& text);             // NOLINT

  std::uint64_t bytes;
};

struct WeightSize {
  std::string name;
  std::uint64_t bytes = 0;
};

struct WeightFile {
  std::string name;
  std::vector<std::size_t> weights;  // Positions in what was split.
};

// Fills files in the order given, up to `max_shard_size` each; a weight larger than that gets a
// file of its own. One file is model.safetensors, several are model-00001-of-0000N.safetensors.
std::vector<WeightFile> split_into_files(const std::vector<WeightSize>& weights,
                                         ByteSize max_shard_size);

inline constexpr char kWeightsFile[] = "model.safetensors";
inline constexpr char kIndexFile[] = "model.safetensors.index.json";

// Whether `file` is one of those that an earlier save_model() may have left.
bool is_weights_file(std::string_view file);

// The index of several files: file by weight.
std::string index_json(const std::vector<WeightSize>& weights,
                       const std::vector<WeightFile>& files);

// Reads an index that `file` held: the names of files by the names of weights. Throws
// CheckpointError if it is malformed or a file is not a plain name in the index's own folder.
std::map<std::string, std::string> parse_index(const std::string& json, const std::string& file);

}  // namespace accel
