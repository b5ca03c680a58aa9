// Compares the files of checkpoints with those of Accelerate. These tests expect accel's
// deliberate differences: a checkpoint has a manifest; files that Accelerate pickles are
// archives of LibTorch (.bin) or, for random numbers, safetensors; weights are always
// safetensors (safe_serialization=False only changes names); and save_model() removes the files
// of an earlier save (docs/decisions/0016).
#include "runtime/core/checkpoint_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "accel/accelerator.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"
#include "tests/conformance/golden.h"

namespace accel {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Files = std::set<std::string>;

class Described : public torch::nn::Module {
 public:
  explicit Described(const json& description) {
    for (const json& one : list(description, "params")) {
      const torch::Tensor value = tensor(one);
      register_parameter(one[0], value, value.is_floating_point());
    }
    for (const json& one : list(description, "buffers")) register_buffer(one[0], tensor(one));
    for (const json& one : list(description, "children")) {
      const std::string name = one[0];
      described_[name] = register_module(name, std::make_shared<Described>(one[1]));
    }
  }

  // Makes the parameter `target` an alias of the parameter `source`.
  void tie(const std::string& source, const std::string& target) {
    auto [from, from_name] = find(source);
    auto [to, to_name] = find(target);
    to->parameters_[to_name] = from->parameters_[from_name];
  }

 private:
  static json list(const json& description, const char* key) {
    return description.value(key, json::array());
  }

  static torch::Tensor tensor(const json& one) {
    static const std::map<std::string, torch::Dtype> dtypes{
        {"float64", torch::kDouble},    {"float32", torch::kFloat}, {"float16", torch::kHalf},
        {"bfloat16", torch::kBFloat16}, {"int64", torch::kLong},    {"int32", torch::kInt},
        {"int16", torch::kShort},       {"int8", torch::kChar},     {"uint8", torch::kByte},
        {"bool", torch::kBool}};
    const std::string dtype = one.size() > 2 ? one[2].get<std::string>() : "float32";
    return torch::ones(one[1].get<std::vector<std::int64_t>>(), dtypes.at(dtype));
  }

  std::pair<Described*, std::string> find(const std::string& name) {
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) return {this, name};
    return described_.at(name.substr(0, dot))->find(name.substr(dot + 1));
  }

  std::map<std::string, std::shared_ptr<Described>> described_;
};

class Custom {
 public:
  void save(torch::serialize::OutputArchive& archive) const { archive.write("i", c10::IValue(1)); }
  void load(torch::serialize::InputArchive&) {}
};

fs::path fresh_folder() {
  const fs::path folder = fs::path(testing::TempDir()) / "layout";
  // Only rank 0 writes, so only rank 0 removes the old folder.
  if (const char* rank = std::getenv("RANK"); rank == nullptr || *rank == '0') {
    fs::remove_all(folder);
  }
  return folder;
}

std::string read(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Files files_in(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) files.insert(entry.path().lexically_relative(folder).string());
  }
  return files;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  if (const std::size_t at = text.find(from); at != std::string::npos) {
    text.replace(at, from.size(), to);
  }
}

// Returns accel's name for a file of Accelerate.
std::string our_name(std::string name) {
  if (name.find("random_states") != std::string::npos) replace(name, ".pkl", ".safetensors");
  if (name.find("pytorch_model") != std::string::npos) replace(name, ".bin", ".safetensors");
  replace(name, "pytorch_model", "model");
  replace(name, ".pkl", ".bin");
  return name;
}

Files our_files(const json& expected) {
  Files files;
  for (const json& file : expected["files"]) files.insert(our_name(file));
  return files;
}

// Returns the files that accel writes for the given ones. The states of schedulers are in
// training_state.json, the one file for small state.
Files our_state_files(const json& expected) {
  Files files;
  for (const std::string& name : our_files(expected)) {
    const fs::path file = name;
    if (!file.filename().string().starts_with("scheduler")) files.insert(name);
    files.insert(file.parent_path() / runtime::kTrainingStateFile);
  }
  return files;
}

// Returns the exact bytes of the header, from the parsed form in the golden data.
std::string header_text(const json& header) {
  std::string text = "{\"__metadata__\":" + header["metadata"].dump();
  for (const json& tensor : header["tensors"]) {
    text += "," + tensor[0].dump() + ":{\"dtype\":" + tensor[1].dump() +
            ",\"shape\":" + tensor[2].dump() + ",\"data_offsets\":" + tensor[3].dump() + "}";
  }
  return text + "}";
}

void expect_same_content(const json& expected, const fs::path& folder) {
  if (!expected.contains("safetensors")) return;
  for (const auto& [name, header] : expected["safetensors"].items()) {
    std::string bytes = read(folder / name);
    const std::string wanted = header_text(header);
    ASSERT_GT(bytes.size(), 8 + wanted.size()) << name;
    EXPECT_EQ(bytes.substr(8, wanted.size()), wanted) << name;
  }
  if (!expected.contains("index")) return;
  for (const auto& [name, index] : expected["index"].items()) {
    EXPECT_EQ(read(folder / name), index.dump(2) + "\n") << name;
  }
}

void expect_same_model_files(const json& one) {
  const json& params = one["params"];
  auto module = std::make_shared<Described>(params["model"]);
  for (const json& pair : params["tied"]) module->tie(pair[0], pair[1]);
  Accelerator accelerator({.cpu = true});
  auto model = accelerator.prepare(module);
  const fs::path folder = fresh_folder();
  for (const json& size : params["max_shard_size"]) {
    accelerator.save_model(model, folder,
                           size.is_string() ? runtime::ByteSize(size.get<std::string>())
                                            : runtime::ByteSize(size.get<std::uint64_t>()));
  }
  if (!accelerator.is_main_process()) return;
  if (!one.contains("upstream_defect")) {
    EXPECT_EQ(files_in(folder), our_files(one["expected"]));
    expect_same_content(one["expected"], folder);
    return;
  }
  // accel differs: the folder is the same as after the last save alone.
  ASSERT_EQ(params["op"], "save_model_twice");
  const fs::path alone = fs::path(testing::TempDir()) / "alone";
  fs::remove_all(alone);
  const json& last = params["max_shard_size"].back();
  accelerator.save_model(
      model, alone,
      last.is_string() ? runtime::ByteSize(last.get<std::string>()) : last.get<std::uint64_t>());
  EXPECT_EQ(files_in(folder), files_in(alone));
  for (const std::string& file : files_in(alone))
    EXPECT_EQ(read(folder / file), read(alone / file));
}

// The model, optimizer and other objects of a case.
struct Program {
  Program(const json& params, const AcceleratorOptions& options) : accelerator(options) {
    for (std::size_t i = 0; i < params["models"].size(); ++i) {
      auto module = std::make_shared<Described>(params["models"][i]);
      accelerator.prepare(module);
      if (i >= params["optimizers"].size()) continue;
      std::shared_ptr<torch::optim::Optimizer> optimizer;
      if (params["optimizers"][i] == "Adam") {
        optimizer = std::make_shared<torch::optim::Adam>(module->parameters());
      } else {
        optimizer = std::make_shared<torch::optim::SGD>(module->parameters(), 0.1);
      }
      accelerator.prepare(optimizer);
      if (i < params["schedulers"].get<std::size_t>()) {
        accelerator.prepare(Scheduler(optimizer, linear_schedule(1, 10)));
      }
    }
    customs.resize(params["custom_objects"].get<std::size_t>());
    for (Custom& custom : customs) accelerator.register_for_checkpointing(custom);
  }
  Accelerator accelerator;
  std::vector<Custom> customs;
};

void expect_same_state_files(const json& one) {
  const fs::path folder = fresh_folder();
  Program program(one["params"], {.cpu = true});
  program.accelerator.save_state(folder);
  program.accelerator.wait_for_save();
  if (!program.accelerator.is_main_process()) return;
  Files files = files_in(folder);
  EXPECT_EQ(files.erase(runtime::kManifestFile), 1u);
  EXPECT_EQ(files, our_state_files(one["expected"]));
  if (!one.contains("upstream_defect")) expect_same_content(one["expected"], folder);
}

void expect_same_rotation(const json& one) {
  const json& params = one["params"];
  const fs::path folder = fresh_folder();
  ProjectConfiguration project{
      .project_dir = folder, .automatic_checkpoint_naming = true, .iteration = params["iteration"]};
  if (!params["total_limit"].is_null()) project.total_limit = params["total_limit"];
  Program program(params, {.cpu = true, .project = project});
  for (const json& names : one["expected"]["after_each_save"]) {
    program.accelerator.save_state();
    program.accelerator.wait_for_save();
    if (!program.accelerator.is_main_process()) continue;
    Files found;
    for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) {
      found.insert(entry.path().filename());
    }
    EXPECT_EQ(found, names.get<Files>());
  }
  if (!program.accelerator.is_main_process()) return;
  Files files = files_in(folder);
  std::erase_if(files, [](const auto& file) { return file.ends_with(runtime::kManifestFile); });
  EXPECT_EQ(files, our_state_files(one["expected"]));
}

void run_cases(int num_processes) {
  std::size_t run = 0;
  for (const json& one : golden_cases("checkpoint_layout.json")) {
    const json& params = one["params"];
    if (params["num_processes"] != num_processes) continue;
    SCOPED_TRACE(one.dump());
    ++run;
    if (params["op"] == "save_state") {
      expect_same_state_files(one);
    } else if (params["op"] == "rotation") {
      expect_same_rotation(one);
    } else {
      expect_same_model_files(one);
    }
  }
  EXPECT_GT(run, 0u);
}

TEST(CheckpointLayoutConformance, EveryCaseOfOneProcess) { run_cases(1); }

TEST(CheckpointLayoutConformance, EveryCaseOfTwoProcesses) {
  runtime::on_ranks(2, [] { run_cases(2); });
}

TEST(CheckpointLayoutConformance, NoCaseHasMoreProcesses) {
  for (const json& one : golden_cases("checkpoint_layout.json")) {
    EXPECT_LE(one["params"]["num_processes"], 2);
  }
}

}  // namespace
}  // namespace accel
