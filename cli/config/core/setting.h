// The settings of a launch: every key of a configuration file and every flag that Accelerate's
// users know, in one table.
//
// The table defines the keys of files, the flags of `accel launch`, the variables of workers,
// `accel config explain` and docs/configuring.md. None of these can therefore miss a setting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/config/core/value.h"

namespace accel::cli {

enum class Kind : uint8_t {
  kBool,   // true or false. Printed as True or False.
  kTruth,  // true or false, kept as written, because scripts get it in lower case.
  kBit,    // true or false. A flag or a default is printed as 1 or 0, a file's value as True or
           // False.
  kInt,
  kFloat,
  kText,
  kNames,  // A list of names, or a text with commas.
};

// The places in which a setting can be given.
enum class Given : uint8_t {
  kFileAndFlag,
  kFileAndSwitch,  // The flag takes no value.
  kFile,
  kFlag,
  kSwitch,  // Only as a flag without a value.
};

enum class Effect : uint8_t {
  kLaunch,    // The setting decides which processes start.
  kWorkers,   // Workers get the setting in `variable`.
  kReplaced,  // accel does this in its own way. `help` says how.
  // accel does not support this. `help` says so. A false or empty value is accepted.
  kRefused,
};

// The form in which a value is printed into its variable.
enum class Print : uint8_t { kAsIs, kLower, kUpper };

struct Setting {
  absl::string_view section;  // The mapping of the file that has the key. Empty for the top level.
  absl::string_view name;     // Name of the key, and of the flag.
  Kind kind = Kind::kText;
  Given given = Given::kFileAndFlag;
  Effect effect = Effect::kWorkers;
  absl::string_view fallback;  // The default. Unset if empty.
  absl::string_view choices;   // The allowed values, separated by "|". If empty, any value.
  absl::string_view variable;  // The variable of workers. Empty if they get none.
  Print print = Print::kAsIs;
  absl::string_view help;
};

// A mapping of the file. Keys may be given without the prefix.
struct Section {
  absl::string_view name;
  absl::string_view prefix;
};

// A name of older versions and guides.
struct OldName {
  absl::string_view section;
  absl::string_view old_name;
  absl::string_view name;
};

// All settings, in the order of the documentation.
const std::vector<const Setting*>& AllSettings();
absl::Span<const Section> AllSections();
absl::Span<const OldName> OldNames();

// The parts of the table.
absl::Span<const Setting> LaunchSettings();
absl::Span<const Setting> DynamoAndFp8Settings();
absl::Span<const Setting> ShardingSettings();
absl::Span<const Setting> DeepSpeedSettings();
absl::Span<const Setting> MegatronSettings();
absl::Span<const Setting> RefusedSettings();

// Returns the setting of this name, or nullptr if there is none.
const Setting* FindSetting(absl::string_view name);
// Returns the setting, which must exist.
const Setting& GetSetting(absl::string_view name);

bool IsInFile(const Setting& setting);
bool IsFlag(const Setting& setting);
bool IsSwitch(const Setting& setting);

// Returns the default, or null if the setting is unset by default.
Value DefaultOf(const Setting& setting);

}  // namespace accel::cli
