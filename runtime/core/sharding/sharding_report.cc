#include "runtime/core/sharding/sharding_report.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace accel::runtime {
namespace {

bool is_around(const std::string& outer, const std::string& inner) {
  return outer.empty() || outer == inner || inner.starts_with(outer + ".");
}

// Returns the bytes that are gathered while unit `i` is in use, of that unit and of all units
// around it. If `next`, adds the following unit and the units around it, which are gathered early.
// Units that are kept do not count.
std::int64_t gathered_at(const ShardingOutline& outline, std::size_t i, bool next) {
  std::int64_t bytes = 0;
  const std::size_t last = std::min(i + (next ? 1 : 0), outline.units.size() - 1);
  for (const ReportedUnit& unit : outline.units) {
    if (!unit.reshard_after_forward) continue;
    const bool is_gathered = is_around(unit.name, outline.units[i].name) ||
                             is_around(unit.name, outline.units[last].name);
    if (is_gathered) bytes += unit.bytes;
  }
  return bytes;
}

// Returns the bytes of the units that are kept after forward. While unit `last` is being gathered,
// counts only the units up to it, because a unit that is kept is gathered once in a pass.
std::int64_t kept_at(const ShardingOutline& outline, std::size_t last) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < outline.units.size(); ++i) {
    const bool is_there = i <= last || outline.units[last].reshard_after_forward;
    if (!outline.units[i].reshard_after_forward && is_there) bytes += outline.units[i].bytes;
  }
  return bytes;
}

// Returns the most bytes that are gathered while unit `i` is gathered and used. Units are
// gathered one by one. So there are bf16 copies of one unit at a time, first of unit `i` and then
// of the following one.
std::int64_t most_gathered_at(const ShardingOutline& outline, std::size_t i) {
  std::int64_t most = 0;
  for (const bool next : {false, true}) {
    const std::size_t last = i + (next ? 1 : 0);
    if (next && (!outline.prefetches || last == outline.units.size())) continue;
    most = std::max(most, kept_at(outline, last) + gathered_at(outline, i, next) +
                              outline.units[last].copied_bytes);
  }
  return most;
}

// Returns the bytes of gradients while unit `i` is in use: those of the unit and of all around it,
// because a unit is reduced when it ends (docs/decisions/0064).
std::int64_t gradients_at(const ShardingOutline& outline, std::size_t i) {
  std::int64_t bytes = 0;
  for (const ReportedUnit& unit : outline.units) {
    if (is_around(unit.name, outline.units[i].name)) bytes += unit.trainable_bytes;
  }
  return bytes;
}

// Returns the name with each run of digits replaced by "#".
std::string pattern_of(std::string_view name) {
  std::string pattern;
  for (const char c : name) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) pattern += c;
    if (is_digit && !pattern.ends_with('#')) pattern += '#';
  }
  return pattern;
}

bool are_alike(const ReportedUnit& left, const ReportedUnit& right) {
  return left.elements == right.elements && left.bytes == right.bytes &&
         left.reshard_after_forward == right.reshard_after_forward &&
         pattern_of(left.name) == pattern_of(right.name);
}

std::string with_unit(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 || value >= 99.95 ? "%.0f %s" : "%.1f %s", value,
                kUnits[unit]);
  return text;
}

std::string_view name_of(ShardingStrategy strategy) {
  constexpr std::string_view kNames[] = {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD",
                                         "HYBRID_SHARD_ZERO2"};
  return kNames[static_cast<std::size_t>(strategy)];
}

std::string counted(int count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string unit_line(const ReportedUnit& first, const ReportedUnit& last, std::size_t count) {
  std::string name = first.name.empty() ? "(root)" : first.name;
  if (count > 1) name += " to " + last.name;
  char line[256];
  std::snprintf(line, sizeof(line), "  %-40.120s %14lld parameters  %9s gathered  %s\n",
                name.c_str(), static_cast<long long>(first.elements),
                with_unit(first.bytes).c_str(),
                first.reshard_after_forward ? "freed after forward" : "kept after forward");
  return line;
}

std::string ignored_line(const ReportedUnit& ignored) {
  char line[128];
  std::snprintf(line, sizeof(line), "  %-40s %14lld parameters  %9s on each rank, not sharded\n",
                "(ignored modules)", static_cast<long long>(ignored.elements),
                with_unit(ignored.bytes).c_str());
  return line;
}

}  // namespace

ShardingBytes sharding_bytes(const ShardingOutline& outline) {
  ShardingBytes bytes;
  for (std::size_t i = 0; i < outline.units.size(); ++i) {
    const ReportedUnit& unit = outline.units[i];
    bytes.parameters += unit.bytes / outline.shard_ranks;
    bytes.gradients += unit.trainable_bytes / outline.shard_ranks;
    bytes.reduced = std::max(bytes.reduced, gradients_at(outline, i));
    bytes.gathered = std::max(bytes.gathered, most_gathered_at(outline, i));
  }
  bytes.parameters += outline.ignored.bytes;
  bytes.gradients += outline.ignored.trainable_bytes;
  return bytes;
}

std::string sharding_text(const ShardingOutline& outline) {
  std::string text = "sharding: " + std::string(name_of(outline.strategy)) + " over " +
                     counted(outline.shard_ranks, "rank") + ", " +
                     counted(outline.replicas, "replica") + "\n";
  std::int64_t elements = 0, trainable = 0;
  for (std::size_t i = 0; i < outline.units.size();) {
    std::size_t end = i + 1;
    while (end < outline.units.size() && are_alike(outline.units[i], outline.units[end])) ++end;
    text += unit_line(outline.units[i], outline.units[end - 1], end - i);
    for (; i < end; ++i) {
      elements += outline.units[i].elements;
      trainable += outline.units[i].trainable_elements;
    }
  }
  if (outline.ignored.elements > 0) text += ignored_line(outline.ignored);
  elements += outline.ignored.elements;
  trainable += outline.ignored.trainable_elements;
  const ShardingBytes bytes = sharding_bytes(outline);
  text += "  " + counted(static_cast<int>(outline.units.size()), "unit") + ", " +
          std::to_string(elements) + " parameters, " + std::to_string(trainable) + " trainable\n";
  text += "each rank holds " + with_unit(bytes.parameters) + " of parameters and " +
          with_unit(bytes.gradients) + " of gradients; the two moments of AdamW take " +
          with_unit(2 * bytes.gradients) + (outline.offloads ? ", all in the CPU's memory" : "") +
          "\n";
  const bool copies = std::ranges::any_of(
      outline.units, [](const ReportedUnit& unit) { return unit.copied_bytes > 0; });
  text += "at the peak also " + with_unit(bytes.gathered) + " of gathered parameters" +
          (copies ? ", bf16 copies included," : "") + " and " + with_unit(bytes.reduced) +
          " of gradients that are not reduced yet, and the activations";
  return text;
}

}  // namespace accel::runtime
