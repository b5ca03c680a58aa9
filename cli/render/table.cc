#include "cli/render/table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/render/escape.h"
#include "common/check.h"
#include "common/utf8.h"

namespace accel::cli {
namespace {

constexpr size_t kGap = 2;

std::string Padded(const std::string& cell, size_t width, Table::Align align, Color color) {
  const std::string blanks(width - DisplayWidth(cell), ' ');
  const std::string shown = Painted(cell, color);
  return align == Table::Align::kRight ? blanks + shown : shown + blanks;
}

// Returns at most `widest` characters of `cell`. If it is cut, the last one is an ellipsis.
std::string Cut(std::string cell, size_t widest) {
  if (widest == 0 || DisplayWidth(cell) <= widest) return cell;
  size_t end = 0;
  for (size_t shown = 1; shown < widest; ++shown) {
    end += common::Utf8Length(absl::string_view(cell).substr(end));
  }
  return absl::StrCat(cell.substr(0, end), "…");
}

}  // namespace

void Table::AddRow(std::vector<std::string> cells) {
  ACCEL_CHECK(cells.size() <= columns_.size(), "a row has no more cells than the table columns");
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i] = cells[i].empty() ? "-" : Cut(EscapeControls(cells[i]), columns_[i].widest);
  }
  rows_.push_back(std::move(cells));
}

void Table::Paint(size_t column, Color color) {
  ACCEL_CHECK(!rows_.empty(), "a cell is painted after its row was added");
  colors_[{rows_.size() - 1, column}] = color;
}

std::string Table::Render(bool color) const {
  std::vector<std::vector<std::string>> lines;
  const bool titled = std::any_of(columns_.begin(), columns_.end(),
                                  [](const Column& column) { return !column.title.empty(); });
  if (titled) {
    std::vector<std::string>& titles = lines.emplace_back();
    for (const Column& column : columns_) titles.push_back(column.title);
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<size_t> widths(columns_.size());
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(line[i]));
  }
  std::string text;
  const size_t first = titled ? 1 : 0;
  for (size_t number = 0; number < lines.size(); ++number) {
    const auto& line = lines[number];
    std::string row;
    for (size_t i = 0; i < line.size(); ++i) {
      if (i > 0) row.append(kGap, ' ');
      Color shown = Color::kNone;
      if (color && number < first) shown = Color::kBold;
      const auto painted = number < first ? colors_.end() : colors_.find({number - first, i});
      if (color && painted != colors_.end()) shown = painted->second;
      row += Padded(line[i], widths[i], columns_[i].align, shown);
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(row), "\n");
  }
  return text;
}

}  // namespace accel::cli
