#include "cli/config/core/config_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/config/core/read_value.h"
#include "cli/render/escape.h"
#include "common/status_macros.h"
#include "common/suggest.h"

namespace accel::cli {
namespace {

constexpr size_t kMaxProblems = 10;

const Section* FindSection(absl::string_view name) {
  for (const Section& section : AllSections()) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

// Collects settings and problems while it walks through the document.
class Reader {
 public:
  explicit Reader(absl::string_view path) { file_.path = std::string(path); }

  void ReadAll(const Node& root) {
    for (const Member& member : root.members) ReadTop(member);
    Migrate();
  }

  absl::StatusOr<ConfigFile> Finish() {
    const bool has_type = std::any_of(
        file_.settings.begin(), file_.settings.end(),
        [](const FileSetting& given) { return given.setting->name == "distributed_type"; });
    if (problems_.empty() && !has_type) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_.path, ": A `distributed_type` must be specified in the config file."));
    }
    if (problems_.empty()) return std::move(file_);
    if (problems_.size() > kMaxProblems) {
      const size_t more = problems_.size() - kMaxProblems;
      problems_.resize(kMaxProblems);
      problems_.push_back(absl::StrCat("and ", more, " more"));
    }
    return absl::InvalidArgumentError(absl::StrJoin(problems_, "\n"));
  }

 private:
  void Problem(Mark mark, absl::string_view sentence) {
    problems_.push_back(absl::StrCat(PlaceOf(file_.path, mark), ": ", ShownSentence(sentence)));
  }

  void ReadTop(const Member& member) {
    if (const Section* section = FindSection(member.key)) return ReadSection(*section, member);
    if (member.key == "fp16" || member.key == "dynamo_backend") {
      old_.push_back(&member);
      return;
    }
    const Setting* setting = FindSetting(member.key);
    if (setting == nullptr || !setting->section.empty() || !IsInFile(*setting)) {
      return Unknown("", member);
    }
    if (member.key == "compute_environment" && member.node->value == Value{"AMAZON_SAGEMAKER"}) {
      return Problem(member.node->mark,
                     "accel does not drive Amazon SageMaker; run this on "
                     "your own machines, with compute_environment: LOCAL_MACHINE");
    }
    Add(*setting, member);
  }

  void ReadSection(const Section& section, const Member& member) {
    if (!member.node->is_mapping) {
      if (IsFalse(member.node->value)) return;
      return Problem(member.node->mark, absl::StrCat(section.name, " must hold keys with values"));
    }
    for (const Member& inner : member.node->members) {
      // Accelerate writes this key and never reads it.
      if (inner.key == "mpirun_ccl" && section.name == "mpirun_config") continue;
      Member named = inner;
      if (!absl::StartsWith(named.key, section.prefix)) {
        named.key = absl::StrCat(section.prefix, named.key);
      }
      for (const OldName& old : OldNames()) {
        if (old.section != section.name || old.old_name != named.key) continue;
        named.key = std::string(old.name);
        Note(inner.mark, inner.key, absl::StrCat("use ", old.name));
      }
      const Setting* setting = FindSetting(named.key);
      if (setting == nullptr || setting->section != section.name) {
        Unknown(section.name, inner);
      } else {
        Add(*setting, named);
      }
    }
  }

  void Note(Mark mark, absl::string_view key, absl::string_view advice) {
    file_.notes.push_back(absl::StrCat(PlaceOf(file_.path, mark), ": ", ShownSentence(key),
                                       " is an old key; ", advice));
  }

  void Add(const Setting& setting, const Member& member) {
    if (const FileSetting* earlier = Find(setting.name)) {
      return Problem(member.mark, absl::StrCat(setting.name, " is already given on line ",
                                               earlier->mark.line, "; remove one"));
    }
    if (member.node->is_mapping) {
      return Problem(member.node->mark,
                     absl::StrCat(setting.name, ": it holds keys and must be ", Expected(setting)));
    }
    auto value = ReadFileValue(setting, member.node->value);
    if (!value.ok()) {
      return Problem(member.node->mark, absl::StrCat(setting.name, ": ", value.status().message()));
    }
    if (setting.effect == Effect::kRefused && !IsFalse(*value)) {
      return Problem(member.mark,
                     absl::StrCat(setting.name, ": ", setting.help, "; remove the key"));
    }
    if (!value->is_null()) file_.settings.push_back({&setting, *std::move(value), member.mark});
  }

  const FileSetting* Find(absl::string_view name) const {
    const auto found =
        std::find_if(file_.settings.begin(), file_.settings.end(),
                     [&](const FileSetting& given) { return given.setting->name == name; });
    return found == file_.settings.end() ? nullptr : &*found;
  }

  // Reads the two keys of old files that stand outside of today's sections.
  void Migrate() {
    for (const Member* member : old_) {
      Member named = *member;
      if (member->key == "dynamo_backend") {
        named.key = "dynamo_backend";
        Add(GetSetting("dynamo_backend"), named);
        Note(member->mark, "dynamo_backend", "write it below dynamo_config");
        continue;
      }
      Note(member->mark, "fp16", "use mixed_precision: fp16");
      if (IsFalse(member->node->value)) continue;
      if (const FileSetting* precision = Find("mixed_precision")) {
        if (absl::EqualsIgnoreCase(PythonText(precision->value), "fp16")) continue;
        Problem(member->mark,
                absl::StrCat("fp16 is true, and mixed_precision is ", PythonText(precision->value),
                             " on line ", precision->mark.line, "; remove fp16"));
        continue;
      }
      file_.settings.push_back({&GetSetting("mixed_precision"), Value{"fp16"}, member->mark});
    }
  }

  void Unknown(absl::string_view section, const Member& member) {
    std::vector<std::string> known;
    for (const Setting* setting : AllSettings()) {
      if (setting->section == section && IsInFile(*setting)) known.emplace_back(setting->name);
    }
    if (section.empty()) {
      for (const Section& other : AllSections()) known.emplace_back(other.name);
    }
    const std::string shown = EscapeControls(absl::string_view(member.key).substr(0, 80));
    std::string nearest = common::Nearest(member.key, known);
    if (nearest.empty() && !section.empty()) {
      for (const Section& s : AllSections()) {
        if (s.name == section) nearest = common::Nearest(absl::StrCat(s.prefix, member.key), known);
      }
    }
    const std::string where = section.empty() ? "" : absl::StrCat(" in ", section);
    const Setting* elsewhere = FindSetting(member.key);
    std::string advice = "; remove it, or see docs/configuring.md for the keys";
    if (!nearest.empty()) {
      advice = absl::StrCat("; did you mean ", nearest, "?");
    } else if (elsewhere != nullptr && IsInFile(*elsewhere)) {
      advice = elsewhere->section.empty() ? "; it belongs to the top level"
                                          : absl::StrCat("; it belongs below ", elsewhere->section);
    }
    Problem(member.mark, absl::StrCat("unknown key ", shown, where, advice));
  }

  ConfigFile file_;
  std::vector<const Member*> old_;
  std::vector<std::string> problems_;
};

}  // namespace

absl::StatusOr<ConfigFile> ReadConfig(absl::string_view path, absl::string_view text) {
  ACCEL_ASSIGN_OR_RETURN(const Node root, ParseDocument(path, text));
  Reader reader(path);
  reader.ReadAll(root);
  return reader.Finish();
}

}  // namespace accel::cli
