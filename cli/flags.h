// The flags of one command, declared as data; parsed by CLI11.
//
//   FlagSet flags("accel nodes", "[flags]", "Lists the nodes of the cluster.");
//   flags.Switch("json", "print JSON", &json);
//   ACCEL_RETURN_IF_ERROR(flags.Parse(args));
//
// A name is written with `_` and understood with `-` as well; `--name value` and `--name=value` are
// the same; the last of several values wins. Names are never abbreviated. Not thread-safe.
#pragma once

#include <climits>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace accel::cli {

class FlagSet {
 public:
  // Takes the text of one value; its error says what the value should be, without naming the flag.
  using Reader = std::function<absl::Status(const std::string& value)>;

  // `command` and `synopsis` make the usage line, `about` says what the command does.
  FlagSet(std::string command, std::string synopsis, std::string about);

  // Each flag writes its result through a pointer, which must live as long as this set. `names` is
  // the long name without dashes, and a letter after a comma if there is a short one: "module,m".
  void Switch(std::string names, std::string help, bool* to);
  void Text(std::string names, std::string placeholder, std::string help, std::string* to);
  void Int(std::string names, std::string placeholder, std::string help, int* to, int least = 0,
           int most = INT_MAX);
  // May be given several times.
  void Repeated(std::string names, std::string placeholder, std::string help,
                std::vector<std::string>* to);
  void Value(std::string names, std::string placeholder, std::string help, Reader read);

  // A word that is no flag; the usage line shows `name`. Without it Parse() fails if `required`.
  void Argument(std::string name, bool required, std::string* to);
  // The first word that is no flag, and everything after it, untouched. `--` before it is dropped.
  void Program(std::vector<std::string>* to);
  // A paragraph at the end of the help.
  void Footer(std::string text);

  // INVALID_ARGUMENT: a sentence that names the flag and what to do. With --help or -h among the
  // flags: OK, and help_requested().
  absl::Status Parse(const std::vector<std::string>& args);
  bool help_requested() const { return help_requested_; }

  // Wrapped for a terminal of 100 columns.
  std::string Help() const;

 private:
  struct Flag {
    std::string name;
    std::string letter;       // Empty: none.
    std::string placeholder;  // Empty: a switch.
    std::string help;
    bool repeated = false;
    Reader read;  // None: this is --help.
  };
  struct Positional {
    std::string name;
    bool required = false;
    std::string* to = nullptr;
  };

  void Add(const std::string& names, std::string placeholder, std::string help, bool repeated,
           Reader read);
  absl::Status ReadWithCli11(std::vector<std::string> args, std::vector<std::string>* rest);
  static absl::Status ReadValues(const Flag& flag, const std::vector<std::string>& values);
  absl::Status TakeRest(std::vector<std::string> rest);
  absl::Status UnknownFlag(absl::string_view word) const;

  const std::string command_;
  const std::string synopsis_;
  const std::string about_;
  std::string footer_;
  std::vector<Flag> flags_;
  std::vector<Positional> arguments_;
  std::vector<std::string>* program_ = nullptr;
  bool help_requested_ = false;
};

}  // namespace accel::cli
