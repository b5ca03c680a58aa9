#include "runtime/core/call_check.h"

#include <algorithm>
#include <map>

namespace accel::runtime {

std::string describe(const CallShape& call) {
  std::string text = call.operation;
  const char* separator = ": ";
  for (const CallShape::Tensor& tensor : call.tensors) {
    text += separator + tensor.dtype + " [";
    const auto dimensions = static_cast<std::int64_t>(tensor.sizes.size());
    for (std::int64_t i = 0; i < dimensions; ++i) {
      const bool is_free = call.free_dimension == i || call.free_dimension == i - dimensions;
      if (i > 0) text += ", ";
      text += is_free ? "*" : std::to_string(tensor.sizes[static_cast<std::size_t>(i)]);
    }
    text += "]";
    separator = ", ";
  }
  return text;
}

std::optional<std::string> describe_mismatch(const std::vector<std::string>& calls) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& call : calls) ++counts[call];
  if (counts.size() <= 1) return std::nullopt;
  std::size_t most = 0;
  for (const auto& [call, count] : counts) most = std::max(most, count);
  // If several calls are equally common, the lowest rank's counts as the usual one.
  const auto usual = std::find_if(calls.begin(), calls.end(),
                                  [&](const std::string& call) { return counts[call] == most; });
  std::string differing, table;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    table += "\n  - Process " + std::to_string(rank) + ": " + calls[rank];
    if (calls[rank] == *usual) continue;
    differing += (differing.empty() ? "" : ", ") + std::to_string(rank);
  }
  return "Cannot apply desired operation due to shape mismatches. All shapes across processes must "
         "be valid.\nProcesses that differ: " +
         differing + "\nOperations and input shapes:" + table;
}

}  // namespace accel::runtime
