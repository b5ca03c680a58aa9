// Renders tables for people: columns two spaces apart, no spaces at line ends.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/render/color.h"

namespace accel::cli {

// Maximum width of a reason in a list, so that it fits on one line of a wide terminal. `accel
// status JOB` shows the whole reason.
inline constexpr size_t kWidestReason = 120;

// Not thread-safe.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    size_t widest = 0;  // Longer cells are cut and end in "…". If 0, no cell is cut.
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row, which may have fewer cells than there are columns. An empty cell is shown as "-".
  // Control characters are escaped.
  void AddRow(std::vector<std::string> cells);
  // Sets the color of a cell of the last row. Only Render(true) shows it.
  void Paint(size_t column, Color color);

  // Renders one line per row, each with a line feed. The titles come first unless all are empty. If
  // `color`, the titles are bold and painted cells have their colors.
  std::string Render(bool color = false) const;

 private:
  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::map<std::pair<size_t, size_t>, Color> colors_;  // By row and column.
};

}  // namespace accel::cli
