#include "cli/config/core/effective_settings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace accel::cli {

EffectiveSettings::EffectiveSettings(std::optional<ConfigFile> file,
                                     const std::vector<FlagSetting>& flags)
    : file_(std::move(file)) {
  for (const Setting* setting : AllSettings()) {
    places_.emplace(setting->name, all_.size());
    all_.push_back({setting, DefaultOf(*setting), Source::kDefault, {}});
  }
  if (file_.has_value()) {
    for (const FileSetting& given : file_->settings) {
      all_[places_.at(std::string(given.setting->name))] = {given.setting, given.value,
                                                            Source::kFile, given.mark};
    }
  }
  for (const FlagSetting& given : flags) {
    all_[places_.at(std::string(given.setting->name))] = {
        given.setting, given.value, Source::kFlag, {}};
  }
}

const EffectiveSetting& EffectiveSettings::Find(absl::string_view name) const {
  const auto place = places_.find(std::string(name));
  ACCEL_CHECK(place != places_.end(), "a setting of this name");
  return all_[place->second];
}

std::string EffectiveSettings::Text(absl::string_view name) const {
  const Value& value = Get(name);
  return value.is_null() ? "" : PythonText(value);
}

std::optional<int64_t> EffectiveSettings::Int(absl::string_view name) const {
  const int64_t* number = Get(name).As<int64_t>();
  return number == nullptr ? std::nullopt : std::optional<int64_t>(*number);
}

bool EffectiveSettings::HasSection(absl::string_view section) const {
  return file_.has_value() &&
         std::any_of(file_->settings.begin(), file_->settings.end(),
                     [&](const FileSetting& given) { return given.setting->section == section; });
}

std::string EffectiveSettings::Name(absl::string_view name) const {
  const EffectiveSetting& found = Find(name);
  if (found.source == Source::kFlag) return absl::StrCat("--", name);
  if (found.source == Source::kFile) {
    return absl::StrCat(PlaceOf(file_->path, found.mark), ": ", name);
  }
  return std::string(name);
}

absl::Status EffectiveSettings::Refuse(absl::string_view name, absl::string_view sentence) const {
  return absl::InvalidArgumentError(absl::StrCat(Name(name), " is ", Text(name), ": ", sentence));
}

}  // namespace accel::cli
