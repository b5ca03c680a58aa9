// The effective value of every setting, and its source. The source is a flag, else the file,
// else the default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cli/config/core/config_file.h"
#include "cli/config/core/setting.h"

namespace accel::cli {

enum class Source : uint8_t { kDefault, kFile, kFlag };

struct FlagSetting {
  const Setting* setting = nullptr;
  Value value;
};

struct EffectiveSetting {
  const Setting* setting = nullptr;
  Value value;
  Source source = Source::kDefault;
  Mark mark;  // In the file, if the source is the file.
};

class EffectiveSettings {
 public:
  // If a flag is given twice, the last one counts.
  EffectiveSettings(std::optional<ConfigFile> file, const std::vector<FlagSetting>& flags);

  // Returns all settings, in the order of the table.
  const std::vector<EffectiveSetting>& all() const { return all_; }
  const std::optional<ConfigFile>& file() const { return file_; }

  // Returns the setting of this name, which must exist, as for all functions below.
  const EffectiveSetting& Find(absl::string_view name) const;
  const Value& Get(absl::string_view name) const { return Find(name).value; }
  // Returns the text as Python prints it, or an empty text if the setting is unset.
  std::string Text(absl::string_view name) const;
  // Returns the number, or nullopt if the setting is unset or holds a text.
  std::optional<int64_t> Int(absl::string_view name) const;
  // Returns true if the value means true.
  bool Is(absl::string_view name) const { return !IsFalse(Get(name)); }
  // Returns true if a flag or the file gives the setting.
  bool IsGiven(absl::string_view name) const { return Find(name).source != Source::kDefault; }
  bool IsFlagGiven(absl::string_view name) const { return Find(name).source == Source::kFlag; }
  // Returns true if the file has a key of the section.
  bool HasSection(absl::string_view section) const;

  // Returns the source of the value, for messages: "--NAME", "FILE:LINE:COLUMN: NAME", or "NAME"
  // for a default.
  std::string Name(absl::string_view name) const;
  // Returns INVALID_ARGUMENT with "NAME is VALUE: SENTENCE". NAME is the result of Name().
  absl::Status Refuse(absl::string_view name, absl::string_view sentence) const;

 private:
  std::optional<ConfigFile> file_;
  std::vector<EffectiveSetting> all_;
  std::unordered_map<std::string, size_t> places_;  // From each name to its index in all_.
};

}  // namespace accel::cli
