// The flags of one command or daemon, declared as data and parsed by CLI11.
//
//   FlagSet flags("accel nodes", "[flags]", "Lists the nodes of the cluster.");
//   flags.Switch("json", "print JSON", &json);
//   ACCEL_RETURN_IF_ERROR(flags.Parse(args));
//
// Names are declared with `_` and also accepted with `-`. `--name value` and
// `--name=value` are equivalent. If a flag is repeated, the last value wins. Names cannot
// be abbreviated. Not thread-safe.
#pragma once

#include <climits>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/command_help.h"

namespace accel::common {

class FlagSet {
 public:
  // Parses the text of one value. The error says what the value should be, without the flag's name.
  using Reader = std::function<absl::Status(const std::string& value)>;

  // `command` and `synopsis` form the usage line; `about` says what the command does.
  FlagSet(std::string command, std::string synopsis, std::string about);

  // Each flag writes its result to `to`, which must outlive this set. `names` is the long name
  // without dashes, optionally followed by a comma and a letter, such as "module,m".
  void Switch(std::string names, std::string help, bool* to);
  // Declares a switch. `read` gets "true", or the text of `--name=TEXT`.
  void SwitchTo(std::string names, std::string help, Reader read);
  void Text(std::string names, std::string placeholder, std::string help, std::string* to);
  void Int(std::string names, std::string placeholder, std::string help, int* to, int least = 0,
           int most = INT_MAX);
  // Declares a flag that may be given several times. All values are kept.
  void Repeated(std::string names, std::string placeholder, std::string help,
                std::vector<std::string>* to);
  void Value(std::string names, std::string placeholder, std::string help, Reader read);
  // Declares a flag whose value is one of `choices`. `read` must check that it is.
  void Choice(std::string names, std::vector<std::string> choices, std::string help, Reader read);

  // Declares a positional argument, which the usage line shows as `name`. Parse() fails if it is
  // missing and `required`.
  void Argument(std::string name, bool required, std::string* to);
  // Collects the first word that is not a flag and everything after it, unchanged. A `--` before
  // it is dropped.
  void Program(std::vector<std::string>* to);
  // Begins a section of the help that only --help_all prints. It has all flags that are declared
  // after this call, until the next Section().
  void Section(std::string title);
  // Sets the last paragraph of the help.
  void Footer(std::string text);

  // Parses and stores the values. INVALID_ARGUMENT: wrong usage; the message names the flag
  // and what to do. If --help, -h, --help_all or --help_man is among the flags, returns OK without
  // storing anything and sets help_requested().
  absl::Status Parse(const std::vector<std::string>& args);
  bool help_requested() const { return help_requested_; }

  // Returns the long names of all flags except --help and its variants, in the order of their
  // declaration.
  std::vector<std::string> Names() const;

  // Returns the text that was requested: that of --help or --help_all, or the manual page.
  std::string Help() const;

  // Returns the facts that help texts, manual pages and completion are made from.
  CommandHelp Describe() const;

 private:
  struct Flag {
    FlagHelp facts;
    bool repeated = false;
    Reader read;  // Null only for --help and its variants.
  };
  struct Positional {
    std::string name;
    bool required = false;
    std::string* to = nullptr;
  };

  FlagHelp& Add(const std::string& names, std::string placeholder, std::string help, bool repeated,
                Reader read);
  absl::Status ReadWithCli11(std::vector<std::string> args, std::vector<std::string>* rest);
  static absl::Status ReadValues(const Flag& flag, const std::vector<std::string>& values);
  absl::Status TakeRest(std::vector<std::string> rest);
  absl::Status UnknownFlag(absl::string_view word) const;

  const std::string command_;
  const std::string synopsis_;
  const std::string about_;
  std::string footer_;
  std::string section_;  // The section that the next flag belongs to.
  std::vector<Flag> flags_;
  std::vector<Positional> arguments_;
  std::vector<std::string>* program_ = nullptr;
  bool help_requested_ = false;
  bool all_requested_ = false;  // By --help_all.
  bool man_requested_ = false;  // By --help_man.
};

}  // namespace accel::common
