#include "weights/core/saved_tensors.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "common/checkpoint_error.h"
#include "weights/core/shown.h"

namespace accel::weights {
namespace {

// Sorts by place and joins ranges that are neighbours in the file and in memory.
std::vector<ByteRange> joined(std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& left, const ByteRange& right) {
    return std::tie(left.file, left.begin) < std::tie(right.file, right.begin);
  });
  std::vector<ByteRange> out;
  for (const ByteRange& range : ranges) {
    if (!out.empty() && out.back().file == range.file &&
        out.back().begin + out.back().length == range.begin &&
        out.back().to + out.back().length == range.to) {
      out.back().length += range.length;
    } else {
      out.push_back(range);
    }
  }
  return out;
}

void append_reads(const SavedTensor& tensor, const Box& wanted, std::uint64_t to,
                  std::vector<ByteRange>& out) {
  const std::uint64_t element = element_size(tensor.dtype);
  for (const SavedPiece& piece : tensor.pieces) {
    const std::optional<Box> both = intersection(piece.box, wanted);
    if (!both) continue;
    for (const Run& run : runs(*both, piece.box, wanted)) {
      out.push_back({.file = piece.file,
                     .begin = piece.begin + run.from * element,
                     .to = to + run.to * element,
                     .length = run.length * element});
    }
  }
}

}  // namespace

void SavedTensors::add(const std::string& name, SafetensorsDtype dtype, const Shape& shape,
                       SavedPiece piece) {
  const auto [found, is_new] =
      tensors.try_emplace(name, SavedTensor{.dtype = dtype, .shape = shape, .pieces = {}});
  SavedTensor& tensor = found->second;
  if (!is_new && (tensor.dtype != dtype || tensor.shape != shape)) {
    throw CheckpointError(files[piece.file] + ": tensor " + shown(name) + " is " +
                          std::string(name_of(dtype)) + text_of(shape) + ", and " +
                          std::string(name_of(tensor.dtype)) + text_of(tensor.shape) +
                          " in another file: the folder mixes two checkpoints");
  }
  if (elements(piece.box) == 0 && !tensor.pieces.empty()) return;
  for (const SavedPiece& other : tensor.pieces) {
    if (other.box == piece.box) return;
  }
  tensor.pieces.push_back(std::move(piece));
}

void check_complete(const SavedTensors& saved, const std::string& folder) {
  for (const auto& [name, tensor] : saved.tensors) {
    std::vector<Box> boxes;
    for (const SavedPiece& piece : tensor.pieces) boxes.push_back(piece.box);
    const std::optional<std::string> fault = fault_of_cover(tensor.shape, std::move(boxes));
    if (!fault) continue;
    throw CheckpointError(folder + ": tensor " + shown(name) + " " + *fault +
                          ": a file of the checkpoint is missing, or it is from another one");
  }
}

std::vector<ByteRange> reads_for(const SavedTensor& tensor, const Box& wanted) {
  std::vector<ByteRange> ranges;
  append_reads(tensor, wanted, 0, ranges);
  return joined(std::move(ranges));
}

}  // namespace accel::weights
