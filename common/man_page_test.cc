#include "common/man_page.h"

#include <gtest/gtest.h>

namespace accel::common {
namespace {

CommandHelp Example() {
  CommandHelp help;
  help.command = "accel try";
  help.synopsis = "[flags] JOB";
  help.about = "Tries a job. It is never run.";
  help.flags = {{"name", "n", "NAME", "what to call it", "", {}},
                {"rare", "", "", "a switch\\", "Seldom used", {}}};
  help.footer = "Exit codes:\n  0     done\n\n.dot";
  return help;
}

TEST(ManPage, HasEveryPartOfTheHelp) {
  EXPECT_EQ(ManPage(Example(), "1", "0.1.0"), R"(.TH "ACCEL-TRY" 1 "" "accel 0.1.0"
.SH NAME
accel\-try \- tries a job
.SH SYNOPSIS
\fBaccel try\fR [flags] JOB
.SH DESCRIPTION
Tries a job. It is never run.
.SH OPTIONS
.TP
\fB\-n, \-\-name\fR \fINAME\fR
what to call it
.SS Seldom used
.TP
\fB\-\-rare\fR
a switch\e
.SH NOTES
Exit codes:
.nf
  0     done
.fi
.PP
\&.dot
.SH SEE ALSO
accel(1)
)");
}

TEST(HelpText, HidesTheSectionsUnlessAllIsAsked) {
  EXPECT_EQ(HelpText(Example(), false).find("--rare"), std::string::npos);
  EXPECT_NE(HelpText(Example(), true).find("\nSeldom used:\n  --rare\n"), std::string::npos);
}

TEST(ChoicesOf, AreTheWordsOfAList) {
  EXPECT_EQ(ChoicesOf("keep|end"), (std::vector<std::string>{"keep", "end"}));
  for (const char* other : {"FILE", "N|MIN:MAX", "K|K,L,…|auto", "", "keep"}) {
    EXPECT_TRUE(ChoicesOf(other).empty()) << other;
  }
}

}  // namespace
}  // namespace accel::common
