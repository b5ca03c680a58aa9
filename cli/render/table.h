// Tables for people: columns two spaces apart, no blanks at line ends.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace accel::cli {

// Of reasons in a list: a line on a wide terminal. The one job or node shows them whole.
inline constexpr size_t kWidestReason = 120;

// Not thread-safe.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    size_t widest = 0;  // Longer cells are cut, which "…" shows; 0: none is.
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Controls in the cells are escaped; a row may end early, and an empty cell shows as "-".
  void AddRow(std::vector<std::string> cells);

  // A line per row, each ended; the titles first unless all are empty.
  std::string Render() const;

 private:
  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace accel::cli
