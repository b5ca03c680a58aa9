#include "runtime/core/checkpoint_layout.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace accel::runtime {
namespace {

constexpr std::string_view kPrefix = "checkpoint_";

std::string numbered(const std::string& stem, std::size_t i, const std::string& extension) {
  return stem + (i == 0 ? "" : "_" + std::to_string(i)) + extension;
}

}  // namespace

std::string model_file(std::size_t i) { return numbered("model", i, ".safetensors"); }
std::string gradients_file(std::size_t i) { return numbered("gradients", i, ".safetensors"); }
std::string optimizer_file(std::size_t i) { return numbered("optimizer", i, ".bin"); }
std::string custom_file(std::size_t i) { return "custom_checkpoint_" + std::to_string(i) + ".bin"; }
std::string model_folder(std::size_t i) { return numbered("model", i, ""); }
std::string gradients_folder(std::size_t i) { return numbered("gradients", i, ""); }
std::string moments_folder(std::size_t i, std::size_t model) {
  const std::string of_model = model == 0 ? "" : "_of_model_" + std::to_string(model);
  return numbered("optimizer", i, "") + of_model;
}
std::string random_states_file(std::size_t rank) {
  return "random_states_" + std::to_string(rank) + ".safetensors";
}

std::string checkpoint_name(std::uint64_t iteration) {
  return std::string(kPrefix) + std::to_string(iteration);
}

std::optional<std::uint64_t> iteration_of(std::string_view name) {
  if (name.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  // "007" is another spelling of 7, and not the name of a checkpoint.
  if (error != std::errc() || std::to_string(number) != name) return std::nullopt;
  return number;
}

std::vector<std::string> checkpoints_among(const std::vector<std::string>& names) {
  std::vector<std::string> checkpoints;
  for (const std::string& name : names) {
    if (iteration_of(name)) checkpoints.push_back(name);
  }
  std::sort(checkpoints.begin(), checkpoints.end(),
            [](const std::string& left, const std::string& right) {
              return *iteration_of(left) < *iteration_of(right);
            });
  return checkpoints;
}

std::vector<std::string> checkpoints_with_suffix(const std::vector<std::string>& names,
                                                 std::string_view suffix) {
  std::vector<std::string> checkpoints;
  for (const std::string& name : names) {
    if (!name.ends_with(suffix)) continue;
    const std::string stem = name.substr(0, name.size() - suffix.size());
    if (iteration_of(stem)) checkpoints.push_back(stem);
  }
  return checkpoints;
}

std::uint64_t next_checkpoint_number(const std::vector<std::string>& names) {
  const std::vector<std::string> checkpoints = checkpoints_among(names);
  return checkpoints.empty() ? 0 : *iteration_of(checkpoints.back()) + 1;
}

}  // namespace accel::runtime
