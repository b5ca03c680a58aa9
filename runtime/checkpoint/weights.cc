#include "runtime/checkpoint/weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "accel/errors.h"
#include "runtime/checkpoint/durable_file.h"
#include "runtime/checkpoint/file_reader.h"
#include "runtime/core/checkpoint_layout.h"
#include "runtime/core/manifest.h"

namespace accel::runtime {
namespace fs = std::filesystem;
namespace {

// The largest index that is read, in bytes.
constexpr std::uint64_t kMaxIndex = 256 << 20;

std::vector<fs::path> files_of_index(const fs::path& index) {
  std::set<fs::path> files;
  for (const auto& [weight, file] : parse_index(read_text(index, kMaxIndex), index.string())) {
    files.insert(index.parent_path() / file);
  }
  return {files.begin(), files.end()};
}

// Returns the first five names, and how many more there are.
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 5; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > 5 ? text + " and " + std::to_string(names.size() - 5) + " more" : text;
}

// Renames the files, which are durable under temporary names, to `names`. The index comes last. If
// shards of an older save have the same names, the old index is deleted first. Otherwise it would
// list a mixture of both saves while the shards are replaced one by one.
void put_in_place(const std::vector<std::string>& names, const fs::path& folder) {
  const auto is_there = [&](const std::string& name) { return fs::exists(folder / name); };
  const bool sharded = names.size() > 1;
  if (sharded && std::any_of(names.begin(), names.end() - 1, is_there)) {
    fs::remove(folder / kIndexFile);
    sync_folder(folder);
  }
  for (const std::string& name : names) {
    if (sharded && name == names.back()) sync_folder(folder);
    fs::rename(folder / (name + kPartialSuffix), folder / name);
  }
  sync_folder(folder);
}

// Deletes weight files of an earlier save that are not among `names`.
void remove_others(const std::vector<std::string>& names, const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (is_weights_file(name) && std::find(names.begin(), names.end(), name) == names.end()) {
      fs::remove(entry.path());
    }
  }
  sync_folder(folder);
}

[[noreturn]] void fail(const fs::path& folder, const fs::filesystem_error& error) {
  throw CheckpointError(folder.string() + ": the model cannot be saved: " + error.what());
}

// A checkpoint has a model.safetensors too, with its checksum in the manifest: replacing it would
// damage the checkpoint.
void check_no_checkpoint(const fs::path& folder) {
  const fs::path manifest = folder / kManifestFile;
  if (!fs::exists(manifest)) return;
  try {
    parse_manifest(read_text(manifest, kMaxManifest), manifest.string());
  } catch (const DamageError&) {
    return;  // Another program's manifest.
  }
  throw std::invalid_argument(folder.string() +
                              ": it is a checkpoint of save_state(), which a model in it would "
                              "damage: save the model to another folder, or to one below it");
}

}  // namespace

std::vector<fs::path> weight_files(const fs::path& path) {
  if (!fs::exists(path)) throw CheckpointError(path.string() + ": there is no such file or folder");
  if (!fs::is_directory(path)) {
    if (path.extension() == ".json") return files_of_index(path);
    return {path};
  }
  if (fs::exists(path / kWeightsFile)) return {path / kWeightsFile};
  std::vector<fs::path> indices;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().string().ends_with(".index.json")) indices.push_back(entry.path());
  }
  if (indices.size() == 1) return files_of_index(indices[0]);
  throw CheckpointError(path.string() + ": it has " +
                        (indices.empty() ? "neither " + std::string(kWeightsFile) + " nor an index"
                                         : "several indices: name one of them") +
                        (fs::exists(path / "pytorch_model.bin")
                             ? "; pytorch_model.bin is a pickle: save it as safetensors from Python"
                             : ""));
}

void begin_weights(const fs::path& folder) try {
  check_no_checkpoint(folder);
  create_folders_durably(folder);
} catch (const fs::filesystem_error& error) {
  fail(folder, error);
}

void save_weights(const torch::nn::Module& module, const fs::path& folder,
                  ByteSize max_shard_size) {
  begin_weights(folder);
  const NamedTensors tensors = without_tied(state_of(module));
  std::vector<WeightSize> sizes;
  for (const auto& [name, tensor] : tensors) sizes.push_back({name, tensor.nbytes()});
  save_weight_files(folder, sizes, split_into_files(sizes, max_shard_size),
                    [&](const WeightFile& file, const fs::path& path) {
                      NamedTensors shard;
                      for (const std::size_t i : file.weights) shard.push_back(tensors[i]);
                      write_durably(path, TensorFile(shard).parts());
                    });
}

void save_weight_files(
    const fs::path& folder, const std::vector<WeightSize>& sizes,
    const std::vector<WeightFile>& files,
    const std::function<void(const WeightFile& file, const fs::path& path)>& write) try {
  std::vector<std::string> written;
  PartialFiles partial;
  const auto partial_of = [&](const std::string& name) {
    written.push_back(name);
    return partial.of(folder / name);
  };
  for (const WeightFile& file : files) write(file, partial_of(file.name));
  if (files.size() > 1) {
    const std::string index = index_json(sizes, files);
    write_durably(partial_of(kIndexFile), {index});
  }
  put_in_place(written, folder);
  remove_others(written, folder);
} catch (const fs::filesystem_error& error) {
  fail(folder, error);
}

std::string old_name(const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}};
  for (const auto& [now, before] : kNames) {
    if (!name.ends_with(now)) continue;
    return name.substr(0, name.size() - now.size()).append(before);
  }
  return "";
}

WeightsLoad::WeightsLoad(const torch::nn::Module& module, const fs::path& path, bool strict) {
  std::map<std::string, std::pair<const TensorFileReader*, const weights::SafetensorsEntry*>> found;
  for (const fs::path& file : weight_files(path)) {
    files_.push_back(std::make_unique<TensorFileReader>(file));
    for (const weights::SafetensorsEntry& entry : files_.back()->header().entries) {
      found[entry.name] = {files_.back().get(), &entry};
    }
  }
  const NamedTensors state = state_of(module);
  for (const auto& [name, tensor] : state) {
    if (found.contains(name)) continue;
    auto renamed = found.extract(old_name(name));
    if (renamed.empty()) continue;
    renamed.key() = name;
    found.insert(std::move(renamed));
  }
  // All names of a tied weight share their memory, so any of them is enough.
  std::set<const void*> present;
  for (const auto& [name, tensor] : state) {
    if (found.contains(name)) present.insert(tensor.data_ptr());
  }
  std::vector<std::string> missing, unexpected;
  std::set<std::string> wanted;
  for (const auto& [name, tensor] : state) {
    wanted.insert(name);
    if (!found.contains(name) && !present.contains(tensor.data_ptr())) missing.push_back(name);
  }
  for (const auto& [name, where] : found) {
    if (!wanted.contains(name)) unexpected.push_back(name);
  }
  if (strict && (!missing.empty() || !unexpected.empty())) {
    throw CheckpointError(path.string() + ": it is of another model" +
                          (missing.empty() ? "" : "; it lacks " + listed(missing)) +
                          (unexpected.empty() ? "" : "; it also has " + listed(unexpected)));
  }
  for (const auto& [name, tensor] : state) {
    const auto where = found.find(name);
    if (where != found.end()) reads_.push_back({where->second.first, where->second.second, tensor});
  }
  check_shapes(reads_);
}

}  // namespace accel::runtime
