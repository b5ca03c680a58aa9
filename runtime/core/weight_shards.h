// Divides a model's weights into files, and reads and writes the index that names the file of each
// weight. The formats are those of Hugging Face, so Python reads the files and we read Python's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace accel::runtime {

// A number of bytes, made from an integer or from a text such as "500MB" or "1.5GB". The units are
// KB, MB, GB and TB, powers of 1000, in upper or lower case. Throws std::invalid_argument for any
// other text. Converts implicitly, so that an option can be given as "10GB".
struct ByteSize {
  ByteSize(std::uint64_t size) : bytes(size) {}  // NOLINT
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
  std::vector<std::size_t> weights;  // Indices into the list of weights that was split.
};

// Fills files with the weights in the given order, up to `max_shard_size` each. A larger weight
// gets its own file. A single file is named model.safetensors, several are named
// model-00001-of-0000N.safetensors. Returns one empty file if there are no weights.
std::vector<WeightFile> split_into_files(const std::vector<WeightSize>& weights,
                                         ByteSize max_shard_size);

inline constexpr char kWeightsFile[] = "model.safetensors";
inline constexpr char kIndexFile[] = "model.safetensors.index.json";

// Returns true if `file` has a name that save_model() writes: weights or their index.
bool is_weights_file(std::string_view file);

// Returns the index as JSON: the total size, and the file name of each weight.
std::string index_json(const std::vector<WeightSize>& weights,
                       const std::vector<WeightFile>& files);

// Reads an index and returns the file name of each weight. `file` names the index in errors. Throws
// CheckpointError if the index is malformed. Also throws it if a file name has a folder, because a
// hostile index must not name files elsewhere.
std::map<std::string, std::string> parse_index(const std::string& json, const std::string& file);

}  // namespace accel::runtime
