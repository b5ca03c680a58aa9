#include "weights/core/dcp_metadata.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "common/checkpoint_error.h"
#include "weights/core/pickle.h"
#include "weights/core/shown.h"

namespace accel::weights {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kModule = "torch.distributed.checkpoint.metadata ";

// All classes that torch writes into such a file: classes of kModule, and others. Only their
// names are used.
constexpr std::string_view kClasses[] = {
    "Metadata",      "TensorStorageMetadata", "BytesStorageMetadata", "TensorProperties",
    "MetadataIndex", "ChunkStorageMetadata",  "StorageMeta",          "_MEM_FORMAT_ENCODING"};
constexpr std::string_view kGlobals[] = {"torch.distributed.checkpoint.filesystem _StorageInfo",
                                         "torch.serialization _get_layout", "torch Size",
                                         "pathlib PosixPath", "pathlib._local PosixPath"};

constexpr std::string_view kDtypes[] = {
    "torch bool",          "torch uint8",   "torch int8",   "torch float8_e5m2",
    "torch float8_e4m3fn", "torch int16",   "torch uint16", "torch float16",
    "torch bfloat16",      "torch int32",   "torch uint32", "torch float32",
    "torch complex64",     "torch float64", "torch int64",  "torch uint64"};
constexpr std::string_view kStorages[] = {"torch BoolStorage",
                                          "torch ByteStorage",
                                          "torch CharStorage",
                                          "",
                                          "",
                                          "torch ShortStorage",
                                          "",
                                          "torch HalfStorage",
                                          "torch BFloat16Storage",
                                          "torch IntStorage",
                                          "",
                                          "torch FloatStorage",
                                          "torch ComplexFloatStorage",
                                          "torch DoubleStorage",
                                          "torch LongStorage",
                                          ""};
static_assert(std::size(kDtypes) == static_cast<std::size_t>(SafetensorsDtype::kU64) + 1);
static_assert(std::size(kStorages) == std::size(kDtypes));

template <std::size_t kSize>
bool has(const std::string_view (&list)[kSize], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

bool is_known(std::string_view global) {
  if (global.starts_with(kModule)) return has(kClasses, global.substr(kModule.size()));
  return has(kGlobals, global) || has(kDtypes, global);
}

bool is_object_of(const PickleValue& value, std::string_view name) {
  return value.is_object_of(std::string(kModule) + std::string(name));
}

// A name that leads out of the folder would read files that do not belong to the checkpoint.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name != "." && name != ".." &&
         name.find('\0') == std::string::npos;
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  DcpMetadata read(const PickleValue& root) {
    if (!is_object_of(root, "Metadata")) fail("it is not the metadata of a checkpoint");
    DcpMetadata out;
    const auto places = read_places(need(root.find("storage_data"), Kind::kDict));
    const PickleValue& tensors = need(root.find("state_dict_metadata"), Kind::kDict);
    for (std::size_t i = 0; i + 1 < tensors.items.size(); i += 2) {
      const std::string& name = need(tensors.items[i], Kind::kText).text;
      if (is_object_of(*tensors.items[i + 1], "BytesStorageMetadata")) {
        out.objects.push_back(name);
        continue;
      }
      out.tensors[name] = read_tensor(name, *tensors.items[i + 1], places);
    }
    return out;
  }

 private:
  using Places = std::map<std::pair<std::string, Shape>, DcpSlice>;

  [[noreturn]] void fail(const std::string& what) const {
    throw CheckpointError(file_ + ": " + what + "; use another copy, or write it again");
  }

  const PickleValue& need(const PickleValue* value, Kind kind) const {
    if (value == nullptr || value->kind != kind) fail("its structure is not that of DCP 1.0");
    return *value;
  }

  std::uint64_t natural(const PickleValue* value) const {
    if (need(value, Kind::kInt).number < 0) fail("it has a negative size");
    return static_cast<std::uint64_t>(value->number);
  }

  // Reads a torch.Size: an object whose only argument is a tuple.
  Shape read_shape(const PickleValue* value) const {
    const PickleValue& object = need(value, Kind::kObject);
    if (!object.is_object_of("torch Size") || object.items[1]->items.size() != 1) {
      fail("it has no torch.Size in the place of a size");
    }
    Shape shape;
    for (const PickleValue* size : need(object.items[1]->items[0], Kind::kList).items) {
      shape.push_back(static_cast<std::int64_t>(natural(size)));
    }
    return shape;
  }

  Places read_places(const PickleValue& dict) const {
    Places places;
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const PickleValue& index = need(dict.items[i], Kind::kObject);
      const PickleValue& place = need(dict.items[i + 1], Kind::kObject);
      const PickleValue* offset = index.find("offset");
      DcpSlice slice = {.file = need(place.find("relative_path"), Kind::kText).text,
                        .begin = natural(place.find("offset")),
                        .length = natural(place.find("length"))};
      if (!is_plain_name(slice.file)) fail("it names a file in another folder");
      // Objects have no offset.
      const Shape offsets =
          offset == nullptr || offset->kind == Kind::kNone ? Shape() : read_shape(offset);
      places[{need(index.find("fqn"), Kind::kText).text, offsets}] = std::move(slice);
    }
    return places;
  }

  DcpTensor read_tensor(const std::string& name, const PickleValue& value,
                        const Places& places) const {
    DcpTensor tensor;
    tensor.shape = read_shape(value.find("size"));
    const PickleValue& properties = need(value.find("properties"), Kind::kObject);
    // TensorProperties has a tuple as its state, and the dtype comes first.
    if (properties.state == nullptr || properties.state->items.empty()) {
      fail("tensor " + shown(name) + " has no dtype");
    }
    tensor.dtype = dtype_of_torch(need(properties.state->items[0], Kind::kGlobal).text, file_);
    for (const PickleValue* chunk : need(value.find("chunks"), Kind::kList).items) {
      Box box = {.offsets = read_shape(chunk->find("offsets")),
                 .sizes = read_shape(chunk->find("sizes"))};
      if (!fits(box, tensor.shape, element_size(tensor.dtype))) {
        fail("a part of tensor " + shown(name) + " lies outside of it");
      }
      if (elements(box) == 0) continue;
      const auto place = places.find({name, box.offsets});
      if (place == places.end()) fail("a part of tensor " + shown(name) + " has no file");
      tensor.chunks.push_back({.box = std::move(box), .slice = place->second});
    }
    return tensor;
  }

  const std::string& file_;
};

}  // namespace

SafetensorsDtype dtype_of_torch(std::string_view global, const std::string& file) {
  for (std::size_t i = 0; i < std::size(kDtypes); ++i) {
    if (global == kDtypes[i] || global == kStorages[i]) return static_cast<SafetensorsDtype>(i);
  }
  throw CheckpointError(file + ": dtype \"" + shown(global) +
                        "\" is not supported: convert the tensor first");
}

DcpMetadata parse_dcp_metadata(std::string_view bytes, const std::string& file) {
  try {
    const Pickle pickle(bytes, is_known);
    return Reader(file).read(pickle.root());
  } catch (const std::invalid_argument& error) {
    throw CheckpointError(file + ": " + error.what() +
                          ": the file is torn, or it is no metadata of a checkpoint");
  }
}

}  // namespace accel::weights
