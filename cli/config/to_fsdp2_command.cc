#include "cli/config/to_fsdp2_command.h"

#include "absl/strings/str_cat.h"
#include "cli/config/core/to_fsdp2.h"
#include "cli/config/load_config.h"
#include "cli/config/save_config.h"
#include "cli/json_object.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

absl::Status Convert(const std::string& from, const std::string& to, bool overwrite, bool json,
                     const Console& console) {
  if (from.empty())
    return absl::InvalidArgumentError("--config_file is missing; it names the file to convert");
  if (!overwrite && to.empty()) {
    return absl::InvalidArgumentError("If --overwrite is not set, --output_file must be provided");
  }
  ACCEL_ASSIGN_OR_RETURN(const std::string text, ReadConfigText(from));
  ACCEL_ASSIGN_OR_RETURN(const Node root, ParseDocument(from, text));
  ACCEL_ASSIGN_OR_RETURN(const Fsdp2Config converted, ConvertToFsdp2(from, root));
  if (!json) {
    for (const std::string& note : converted.notes) PrintMessage(console, note);
  }
  const std::string& path = to.empty() ? from : to;
  if (converted.is_converted) {
    const absl::Status saved = SaveConfig(path, WriteTree(path, converted.tree), overwrite);
    if (absl::IsAlreadyExists(saved)) {
      return absl::AlreadyExistsError(
          absl::StrCat("Output file ", path, " already exists and --overwrite is not set"));
    }
    ACCEL_RETURN_IF_ERROR(saved);
  }
  if (json) {
    console.out << JsonObject::Versioned()
                       .Text("configuration_file", converted.is_converted ? path : from)
                       .Bool("converted", converted.is_converted)
                       .Texts("notes", converted.notes)
                       .Print()
                << "\n";
  } else if (converted.is_converted) {
    console.out << "saved the configuration for version 2 of FSDP at " << path << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

int RunToFsdp2(const std::vector<std::string>& args, const Console& console) {
  std::string from, to;
  bool overwrite = false, json = false;
  FlagSet flags("accel to-fsdp2", "--config_file FILE [--output_file FILE] [--overwrite]",
                "Converts a configuration file from version 1 of FSDP to version 2, and says what "
                "it has changed. Comments are not kept.");
  flags.Text("config_file", "FILE", "the file to convert", &from);
  flags.Text("output_file", "FILE", "the file to write (default with --overwrite: the same file)",
             &to);
  flags.Switch("overwrite", "replace a file that exists", &overwrite);
  flags.Switch("json", "print JSON (docs/json.md)", &json);
  flags.Footer("Exit codes: 0 done, 2 wrong usage or a wrong file, 1 any other error.");
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  const absl::Status done = Convert(from, to, overwrite, json, console);
  return done.ok() ? kExitOk : Fail(console, done);
}

}  // namespace accel::cli
