#include "runtime/checkpoint/load_weights.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/model_parts.h"
#include "runtime/checkpoint/parts_load.h"
#include "runtime/checkpoint/weights.h"

namespace accel::runtime {
namespace fs = std::filesystem;
namespace {

constexpr char kDcpMetadata[] = ".metadata";
// Accelerate puts the model under this key of its folders.
constexpr char kDcpKey[] = "model.";

// Returns true for a folder that holds the parts of several ranks.
bool is_of_parts(const fs::path& path) {
  if (!fs::is_directory(path)) return false;
  if (fs::exists(path / kDcpMetadata)) return true;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("shard-") && name.ends_with(".safetensors")) return true;
  }
  return false;
}

weights::SavedFolder open_weights(const fs::path& path) {
  if (is_of_parts(path)) return weights::SavedFolder(path);
  const std::vector<fs::path> files = weight_files(path);
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.filename());
  return weights::SavedFolder(files.front().parent_path(), names);
}

// Adds a further name for each name of a target, unless it is empty.
void add_names(std::vector<PartTarget>& targets,
               const std::function<std::string(const std::string&)>& further) {
  for (PartTarget& target : targets) {
    const std::vector<std::string> names = target.names;
    for (const std::string& name : names) {
      std::string other = further(name);
      if (!other.empty()) target.names.push_back(std::move(other));
    }
  }
}

}  // namespace

void load_weights(const torch::nn::Module& module, ShardedModel* model, const fs::path& path,
                  bool strict) {
  if (model == nullptr && !is_of_parts(path)) return WeightsLoad(module, path, strict).run();
  if (model != nullptr) model->free_all();
  std::vector<PartTarget> targets = state_targets(module, model);
  add_names(targets, old_name);
  if (fs::exists(path / kDcpMetadata)) {
    add_names(targets, [](const std::string& name) { return kDcpKey + name; });
  }
  PartsLoad(open_weights(path), std::move(targets), path.string(), strict).run();
  if (model != nullptr) model->note_values();
}

}  // namespace accel::runtime
