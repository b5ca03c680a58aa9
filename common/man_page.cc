#include "common/man_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace accel::common {
namespace {

// Returns `text` so that troff prints it unchanged. A line that begins with a dot or an apostrophe
// would be a request.
std::string Escaped(absl::string_view text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  if (absl::StartsWith(escaped, ".") || absl::StartsWith(escaped, "'")) {
    escaped.insert(0, "\\&");
  }
  return escaped;
}

// Returns `text` as running text. Lines that begin with a space are kept unfilled.
std::string Paragraphs(absl::string_view text) {
  std::string page;
  bool unfilled = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool indented = absl::StartsWith(line, " ");
    if (indented != unfilled) absl::StrAppend(&page, indented ? ".nf\n" : ".fi\n");
    unfilled = indented;
    if (line.empty()) {
      absl::StrAppend(&page, ".PP\n");
    } else {
      absl::StrAppend(&page, Escaped(line), "\n");
    }
  }
  if (unfilled) absl::StrAppend(&page, ".fi\n");
  return page;
}

// Returns the first sentence of `about` without its period, as the line that apropos(1) prints.
std::string FirstSentence(const std::string& about) {
  std::string sentence = about.substr(0, about.find(". "));
  if (absl::EndsWith(sentence, ".")) sentence.pop_back();
  if (!sentence.empty()) sentence[0] = absl::ascii_tolower(sentence[0]);
  return sentence;
}

std::string FlagParagraph(const FlagHelp& flag) {
  const std::string letter = flag.letter.empty() ? "" : absl::StrCat("-", flag.letter, ", ");
  std::string page =
      absl::StrCat(".TP\n\\fB", Escaped(absl::StrCat(letter, "--", flag.name)), "\\fR");
  if (!flag.placeholder.empty()) absl::StrAppend(&page, " \\fI", Escaped(flag.placeholder), "\\fR");
  return absl::StrCat(page, "\n", Escaped(flag.help), "\n");
}

}  // namespace

std::string ManPage(const CommandHelp& help, absl::string_view section, absl::string_view version) {
  const std::string name = absl::StrReplaceAll(help.command, {{" ", "-"}});
  std::string page =
      absl::StrCat(".TH \"", absl::AsciiStrToUpper(name), "\" ", section, " \"\" \"accel ", version,
                   "\"\n", ".SH NAME\n", Escaped(name), " \\- ", Escaped(FirstSentence(help.about)),
                   "\n", ".SH SYNOPSIS\n\\fB", Escaped(help.command), "\\fR ",
                   Escaped(help.synopsis), "\n", ".SH DESCRIPTION\n", Paragraphs(help.about));
  if (!help.commands.empty()) absl::StrAppend(&page, ".SH COMMANDS\n");
  for (const FlagHelp& command : help.commands) {
    absl::StrAppend(&page, ".TP\n\\fB", Escaped(command.name), "\\fR\n", Escaped(command.help),
                    "\n");
  }
  if (!help.flags.empty()) absl::StrAppend(&page, ".SH OPTIONS\n");
  std::string part;
  for (const FlagHelp& flag : help.flags) {
    if (flag.section != part) absl::StrAppend(&page, ".SS ", Escaped(flag.section), "\n");
    part = flag.section;
    page += FlagParagraph(flag);
  }
  if (!help.footer.empty()) absl::StrAppend(&page, ".SH NOTES\n", Paragraphs(help.footer));
  if (help.command != "accel") absl::StrAppend(&page, ".SH SEE ALSO\naccel(1)\n");
  return page;
}

}  // namespace accel::common
