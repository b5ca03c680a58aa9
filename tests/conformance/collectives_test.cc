// Runs every case of gather.json, reduce.json, pad_across_processes.json and
// split_between_processes.json, in as many processes as the case has. Arguments that
// Accelerate rejects because of their type do not compile here. In cases that are marked as
// defects of Accelerate:
//   - the mean of integers over several processes is rejected before anything is sent;
//   - kNone changes nothing;
//   - padding an empty sequence gives empty parts, and tuples are padded in the same way as lists;
//   - the length of a map in a map is the length of its sequences.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <stdexcept>
#include <variant>

#include "accel/accelerator.h"
#include "runtime/testing/datasets.h"
#include "runtime/testing/ranks.h"
#include "tests/conformance/golden.h"

namespace accel {
namespace {

using nlohmann::json;
using Items = std::vector<json>;

static_assert(!nested_tensors<std::string> && !nested_tensors<std::vector<std::string>>);

// Runs `expect` on the cases of `file`. Cases for N processes run in N processes.
void run_cases(const char* file, void (*expect)(const Accelerator&, const json&)) {
  const json cases = golden_cases(file);
  std::set<int> worlds;
  for (const json& one : cases) worlds.insert(one["params"]["num_processes"].get<int>());
  for (const int world : worlds) {
    runtime::on_ranks(world, [&] {
      const Accelerator accelerator;
      for (const json& one : cases) {
        if (one["params"]["num_processes"] != world) continue;
        SCOPED_TRACE(one.dump());
        expect(accelerator, one);
      }
    });
  }
}

bool is_tensor(const json& value) { return value.is_object() && value.contains("dtype"); }

const std::map<std::string, torch::Dtype>& dtypes() {
  static const std::map<std::string, torch::Dtype> all{{"float32", torch::kFloat},
                                                       {"float64", torch::kDouble},
                                                       {"int64", torch::kLong},
                                                       {"bool", torch::kBool}};
  return all;
}

torch::Tensor tensor_of(const json& value) {
  std::vector<double> numbers;
  const auto flatten = [&](const auto& self, const json& data) -> void {
    if (data.is_array()) {
      for (const json& item : data) self(self, item);
    } else {
      numbers.push_back(data.is_boolean() ? (data.get<bool>() ? 1 : 0) : data.get<double>());
    }
  };
  flatten(flatten, value["data"]);
  return torch::tensor(numbers, torch::kDouble)
      .to(dtypes().at(value["dtype"]))
      .reshape(value["shape"].get<std::vector<std::int64_t>>());
}

// Any structure that JSON can hold.
struct Value {
  std::variant<torch::Tensor, std::vector<Value>, std::map<std::string, Value>> is;

  template <typename F>
  Value map_tensors(F f) const {
    return std::visit([&](const auto& value) { return Value{accel::map_tensors(value, f)}; }, is);
  }
};

Value value_of(const json& value) {
  if (is_tensor(value)) return {tensor_of(value)};
  if (value.is_object() && value.contains("dict")) {
    std::map<std::string, Value> out;
    for (const auto& [name, item] : value["dict"].items()) out.emplace(name, value_of(item));
    return {out};
  }
  std::vector<Value> out;
  for (const json& item : value.is_object() ? value["tuple"] : value) out.push_back(value_of(item));
  return {out};
}

void expect_same(const torch::Tensor& tensor, const json& expected) {
  const torch::Tensor golden = tensor_of(expected);
  EXPECT_EQ(tensor.dtype(), golden.dtype());
  EXPECT_TRUE(torch::equal(tensor, golden)) << tensor;
}

void expect_same(const Value& value, const json& expected) {
  const Value golden = value_of(expected);
  ASSERT_EQ(value.is.index(), golden.is.index());
  if (std::holds_alternative<torch::Tensor>(value.is)) {
    expect_same(std::get<torch::Tensor>(value.is), expected);
  } else if (const auto* list = std::get_if<std::vector<Value>>(&value.is)) {
    const json& items = expected.is_object() ? expected["tuple"] : expected;
    ASSERT_EQ(list->size(), items.size());
    for (std::size_t i = 0; i < items.size(); ++i) expect_same((*list)[i], items[i]);
  } else {
    const auto& map = std::get<std::map<std::string, Value>>(value.is);
    ASSERT_EQ(map.size(), expected["dict"].size());
    for (const auto& [name, item] : map) expect_same(item, expected["dict"].at(name));
  }
}

const json& expected_of(const Accelerator& accelerator, const json& one) {
  const json& expected = one["expected"];
  return expected.contains("all_ranks") ? expected["all_ranks"]
                                        : expected["per_rank"][accelerator.process_index()];
}

std::vector<std::string> dumped(const json& items) {
  std::vector<std::string> out;
  for (const json& item : items) out.push_back(item.dump());
  return out;
}

void expect_gathers(const Accelerator& accelerator, const json& one) {
  const json& params = one["params"];
  const json& mine = params["inputs"][accelerator.process_index()];
  const json& expected = expected_of(accelerator, one);
  EXPECT_FALSE(one.contains("upstream_defect")) << "a defect that this test does not know";
  const std::string op = params["op"];
  const int from = params.value("kwargs", json::object()).value("from_process", 0);
  if (op == "gather_object") {
    EXPECT_EQ(accelerator.gather_object(dumped(mine)), dumped(expected));
  } else if (op == "broadcast_object_list") {
    EXPECT_EQ(accelerator.broadcast_object(mine.dump(), from), expected.dump());
  } else if (mine.is_string()) {
    EXPECT_TRUE(expected.contains("error") || accelerator.num_processes() == 1);
  } else if (op == "broadcast") {
    expect_same(accelerator.broadcast(value_of(mine), from), expected);
  } else if (params.value("transposed", false)) {
    expect_same(accelerator.gather(tensor_of(mine).t()), expected);
  } else {
    EXPECT_EQ(op, "gather");
    expect_same(accelerator.gather(value_of(mine)), expected);
  }
}

TEST(CollectivesConformance, Gather) { run_cases("gather.json", expect_gathers); }

void expect_reduces(const Accelerator& accelerator, const json& one) {
  const std::map<std::string, runtime::Reduction> reductions{
      {"sum", torch::kSum}, {"mean", torch::kMean}, {"max", torch::kMax}, {"none", torch::kNone}};
  const std::string name = one["params"]["kwargs"]["reduction"];
  const runtime::Reduction reduction = reductions.at(name);
  const json& mine = one["params"]["inputs"][accelerator.process_index()];
  const json& expected = expected_of(accelerator, one);
  if (!one.contains("upstream_defect")) {
    expect_same(accelerator.reduce(value_of(mine), reduction), expected);
  } else if (name == "none") {
    expect_same(accelerator.reduce(value_of(mine), reduction), mine);
  } else {
    EXPECT_TRUE(expected.contains("error"));
    EXPECT_THROW(accelerator.reduce(value_of(mine), reduction), std::invalid_argument);
  }
}

TEST(CollectivesConformance, Reduce) { run_cases("reduce.json", expect_reduces); }

void expect_pads(const Accelerator& accelerator, const json& one) {
  const json& kwargs = one["params"]["kwargs"];
  const json& mine = one["params"]["inputs"][accelerator.process_index()];
  const json& expected = expected_of(accelerator, one);
  EXPECT_FALSE(one.contains("upstream_defect")) << "a defect that this test does not know";
  if (mine.is_string()) {
    EXPECT_TRUE(expected.contains("error"));
    return;
  }
  const PadOptions options{.dim = kwargs["dim"],
                           .pad_index = kwargs.value("pad_index", 0.0),
                           .pad_first = kwargs.value("pad_first", false)};
  expect_same(accelerator.pad_across_processes(value_of(mine), options), expected);
}

TEST(CollectivesConformance, PadAcrossProcesses) {
  run_cases("pad_across_processes.json", expect_pads);
}

// A list or a tuple.
Items items_of(const json& value) {
  return (value.is_object() ? value["tuple"] : value).get<Items>();
}

bool is_dict(const json& value) { return value.is_object() && value.contains("dict"); }

// Converts the value that a case splits to its C++ type, and calls `f` with it.
template <typename F>
void with_sequences(const json& value, F&& f) {
  if (is_tensor(value)) {
    f(tensor_of(value));
  } else if (!is_dict(value)) {
    f(items_of(value));
  } else if (value["dict"].contains("t")) {
    f(std::pair{tensor_of(value["dict"]["t"]), items_of(value["dict"]["u"])});
  } else if (is_dict(value["dict"]["b"])) {
    const json& inner = value["dict"]["b"]["dict"];
    f(std::tuple{
        items_of(value["dict"]["a"]),
        std::map<std::string, Items>{{"c", items_of(inner["c"])}, {"d", items_of(inner["d"])}}});
  } else {
    std::map<std::string, Items> map;
    for (const auto& [name, items] : value["dict"].items()) map.emplace(name, items_of(items));
    f(map);
  }
}

json json_of(const torch::Tensor& tensor) {
  json rows = json::array();
  for (std::int64_t i = 0; i < tensor.size(0); ++i) {
    std::ostringstream row;
    row << tensor[i];
    rows.push_back(row.str());
  }
  return rows;
}
json json_of(const Items& items) { return items; }
template <typename A, typename B>
json json_of(const std::pair<A, B>& pair) {
  return {json_of(pair.first), json_of(pair.second)};
}
template <typename T>
json json_of(const std::map<std::string, T>& map) {
  json out = json::object();
  for (const auto& [name, value] : map) out[name] = json_of(value);
  return out;
}
template <typename A, typename B>
json json_of(const std::tuple<A, B>& tuple) {
  return {json_of(std::get<0>(tuple)), json_of(std::get<1>(tuple))};
}

// Returns process p's part of each list in `whole`, by the documented rule.
json cut(const json& whole, std::size_t n, std::size_t p, bool pad) {
  if (whole.is_object() || (!whole.empty() && whole[0].is_array())) {
    json out = whole;
    for (json& part : out) part = cut(part, n, p, pad);
    return out;
  }
  json out = json::array();
  std::size_t first = 0;
  for (std::size_t q = 0; q < p; ++q) first += (whole.size() + n - 1 - q) / n;
  const std::size_t count = (whole.size() + n - 1 - p) / n;
  for (std::size_t i = first; i < first + count; ++i) out.push_back(whole[i]);
  const std::size_t longest = (whole.size() + n - 1) / n;
  while (pad && out.size() < longest) out.push_back(whole.back());
  return out;
}

void expect_splits(const Accelerator& accelerator, const json& one) {
  const json& inputs = one["params"]["inputs"];
  const json& expected = one["expected"];
  const bool pad = one["params"]["apply_padding"];
  if (inputs.is_string()) return;  // Does not compile: which part of a text would be meant?
  with_sequences(inputs, [&](const auto& value) {
    if (expected.contains("error") && !one.contains("upstream_defect")) {
      EXPECT_THROW(accelerator.split_between_processes(value, pad), std::invalid_argument);
      return;
    }
    const json mine = json_of(accelerator.split_between_processes(value, pad));
    if (one.contains("upstream_defect")) {
      EXPECT_EQ(mine, cut(json_of(value), static_cast<std::size_t>(accelerator.num_processes()),
                          static_cast<std::size_t>(accelerator.process_index()), pad));
    } else {
      with_sequences(expected["per_rank"][accelerator.process_index()],
                     [&](const auto& golden) { EXPECT_EQ(mine, json_of(golden)); });
    }
  });
}

TEST(CollectivesConformance, SplitBetweenProcesses) {
  run_cases("split_between_processes.json", expect_splits);
}

}  // namespace
}  // namespace accel
