#include "weights/core/shard_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/checkpoint_error.h"
#include "weights/core/parse_json.h"
#include "weights/core/shown.h"

namespace accel::weights {
namespace {

using json = nlohmann::json;

[[noreturn]] void fail(const std::string& file, const std::string& name) {
  throw CheckpointError(file + ": the place of tensor " + shown(name) +
                        " in its header is malformed: use another copy of the file");
}

Shape natural_numbers(const json& list, const std::string& file, const std::string& name) {
  if (!list.is_array()) fail(file, name);
  Shape numbers;
  for (const json& number : list) {
    if (!number.is_number_unsigned()) fail(file, name);
    const auto value = number.get<std::uint64_t>();
    if (value > static_cast<std::uint64_t>(INT64_MAX)) fail(file, name);
    numbers.push_back(static_cast<std::int64_t>(value));
  }
  return numbers;
}

// Returns the information of one file, or a null value if it has none.
json sharding_info(const SafetensorsHeader& header, const std::string& file) {
  const auto text = header.metadata.find(kShardingInfo);
  if (text == header.metadata.end()) return nullptr;
  json info = parse_json(text->second);
  if (!info.is_object()) fail(file, "(all)");
  return info;
}

// Returns the smallest shape that a tensor can have if a part of it ends where `box` does.
Shape grown(const SavedTensors& saved, const std::string& name, const Box& box) {
  Shape shape(box.sizes.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (__builtin_add_overflow(box.offsets[d], box.sizes[d], &shape[d])) shape[d] = -1;
  }
  const auto known = saved.tensors.find(name);
  if (known == saved.tensors.end() || known->second.shape.size() != shape.size()) return shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    shape[d] = std::max(shape[d], known->second.shape[d]);
  }
  return shape;
}

}  // namespace

void add_shard_file(const SafetensorsHeader& header, SavedTensors& saved) {
  const std::string& file = saved.files.back();
  const json info = sharding_info(header, file);
  for (const SafetensorsEntry& entry : header.entries) {
    Box box = whole(entry.shape);
    Shape shape = entry.shape;
    if (info.is_object()) {
      const auto place = info.find(entry.name);
      if (place == info.end() || !place->is_object() || !place->contains(kSavedOffsets)) {
        fail(file, entry.name);
      }
      box.offsets = natural_numbers((*place)[kSavedOffsets], file, entry.name);
      if (box.offsets.size() != box.sizes.size()) fail(file, entry.name);
      if (place->contains(kFullShape)) {
        shape = natural_numbers((*place)[kFullShape], file, entry.name);
      } else {
        shape = grown(saved, entry.name, box);
        const auto known = saved.tensors.find(entry.name);
        if (known != saved.tensors.end() && known->second.shape.size() == shape.size()) {
          known->second.shape = shape;
        }
      }
    }
    if (!fits(box, shape, element_size(entry.dtype))) fail(file, entry.name);
    saved.add(entry.name, entry.dtype, shape,
              {.box = std::move(box),
               .file = saved.files.size() - 1,
               .begin = header.data_begin + entry.begin});
  }
}

}  // namespace accel::weights
