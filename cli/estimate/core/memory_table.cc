#include "cli/estimate/core/memory_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/config/core/value.h"
#include "cli/json_object.h"
#include "cli/render/escape.h"
#include "cli/render/table.h"

namespace accel::cli {
namespace {

struct Dtype {
  absl::string_view name;
  double divisor;  // How much smaller than float32 an element is.
  // Memory of training, relative to the float32 model: parameters, gradients and two states of Adam
  // in float32, and what mixed precision takes. 0 if nothing trains in this dtype.
  double training;
};
constexpr Dtype kDtypes[] = {{"float32", 1, 4}, {"float16", 2, 2}, {"int8", 4, 0}, {"int4", 8, 0}};

struct Row {
  absl::string_view dtype;
  double largest = 0;   // Bytes.
  double total = 0;     // Bytes.
  double training = 0;  // Bytes. 0 if nothing trains in this dtype.
};

std::vector<Row> Rows(const ModelSizes& sizes, const std::vector<std::string>& dtypes) {
  const auto total = static_cast<double>(sizes.total);
  std::vector<Row> rows;
  for (const std::string& name : dtypes) {
    for (const Dtype& dtype : kDtypes) {
      if (dtype.name != name) continue;
      rows.push_back({dtype.name, static_cast<double>(sizes.largest) / dtype.divisor,
                      total / dtype.divisor, total * dtype.training});
    }
  }
  return rows;
}

}  // namespace

bool IsDtype(absl::string_view name) {
  return std::any_of(std::begin(kDtypes), std::end(kDtypes),
                     [name](const Dtype& dtype) { return dtype.name == name; });
}

std::string HumanBytes(double bytes) {
  for (const char* unit : {"bytes", "KB", "MB", "GB", "TB"}) {
    if (bytes < 1024) {
      return absl::StrCat(PythonText(Value{std::round(bytes * 100) / 100}), " ", unit);
    }
    bytes /= 1024;
  }
  return absl::StrCat(PythonText(Value{std::round(bytes * 100) / 100}), " PB");
}

std::string MemoryTable(absl::string_view model, const ModelSizes& sizes,
                        const std::vector<std::string>& dtypes) {
  Table table({{"dtype"},
               {"Largest Layer", Table::Align::kRight},
               {"Total Size", Table::Align::kRight},
               {"Training using Adam", Table::Align::kRight}});
  for (const Row& row : Rows(sizes, dtypes)) {
    table.AddRow({std::string(row.dtype), HumanBytes(row.largest), HumanBytes(row.total),
                  row.training == 0 ? "N/A" : HumanBytes(row.training)});
  }
  const std::string layer =
      sizes.largest_name.empty() ? "it has no tensors" : "largest layer: " + sizes.largest_name;
  // Names of tensors come from outside, and a terminal would obey their control characters.
  return absl::StrCat("Memory usage of ", model, " (", EscapeControls(layer), ")\n\n",
                      table.Render());
}

std::string MemoryJson(absl::string_view model, const ModelSizes& sizes,
                       const std::vector<std::string>& dtypes) {
  std::vector<std::string> rows;
  for (const Row& row : Rows(sizes, dtypes)) {
    JsonObject object;
    object.Text("dtype", row.dtype)
        .Number("largest_layer_bytes", static_cast<uint64_t>(row.largest))
        .Number("total_bytes", static_cast<uint64_t>(row.total))
        .Json("training_bytes",
              row.training == 0 ? "null" : absl::StrCat(static_cast<uint64_t>(row.training)));
    rows.push_back(object.Print());
  }
  return JsonObject::Versioned()
      .Text("model", model)
      .Text("largest_layer", sizes.largest_name)
      .Json("dtypes", absl::StrCat("[", absl::StrJoin(rows, ", "), "]"))
      .Print();
}

}  // namespace accel::cli
