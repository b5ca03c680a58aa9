#include "cli/estimate/core/memory_table.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "cli/config/core/value.h"
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

}  // namespace

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
  for (const std::string& name : dtypes) {
    for (const Dtype& dtype : kDtypes) {
      if (dtype.name != name) continue;
      const auto total = static_cast<double>(sizes.total);
      table.AddRow({name, HumanBytes(static_cast<double>(sizes.largest) / dtype.divisor),
                    HumanBytes(total / dtype.divisor),
                    dtype.training == 0 ? "N/A" : HumanBytes(total * dtype.training)});
    }
  }
  return absl::StrCat("Memory usage of ", model, " (largest layer: ", sizes.largest_name, ")\n\n",
                      table.Render());
}

}  // namespace accel::cli
