#include "cli/render/table.h"

#include <gtest/gtest.h>

namespace accel::cli {
namespace {

constexpr auto kRight = Table::Align::kRight;

TEST(Table, AlignsColumnsWithoutTrailingBlanks) {
  Table table({{"JOB"}, {"RANKS", kRight}, {"REASON"}});
  table.AddRow({"a0x2", "8", "runs"});
  table.AddRow({"a0x2k9fq", "1024", ""});
  table.AddRow({"größer", "", "x"});
  table.AddRow({"b"});
  EXPECT_EQ(table.Render(),
            "JOB       RANKS  REASON\n"
            "a0x2          8  runs\n"
            "a0x2k9fq   1024  -\n"
            "größer        -  x\n"
            "b\n");
}

TEST(Table, HasNoTitleLineWithoutTitles) {
  Table table({{""}, {""}});
  table.AddRow({"phase", "RUNNING"});
  table.AddRow({"reason", "a\nb"});
  EXPECT_EQ(table.Render(), "phase   RUNNING\nreason  a\\nb\n");
}

TEST(Table, CutsWhatIsTooLong) {
  Table table({{"REASON", Table::Align::kLeft, 6}, {"X"}});
  table.AddRow({"größer", "long, and not bounded"});
  table.AddRow({"größere Gründe", "x"});
  table.AddRow({"abcd\n", "x"});
  table.AddRow({"abcde\n", "x"});
  EXPECT_EQ(table.Render(),
            "REASON  X\n"
            "größer  long, and not bounded\n"
            "größe…  x\n"
            "abcd\\n  x\n"
            "abcde…  x\n");
}

TEST(Table, ColorsChangeNoWidth) {
  Table table({{"JOB"}, {"PHASE"}, {"N", kRight}});
  table.AddRow({"a", "RUNNING", "1"});
  table.AddRow({"b", "FAILED", "22"});
  table.Paint(1, Color::kRed);
  EXPECT_EQ(table.Render(/*color=*/true),
            "\x1b[1mJOB\x1b[0m  \x1b[1mPHASE\x1b[0m     \x1b[1mN\x1b[0m\n"
            "a    RUNNING   1\n"
            "b    \x1b[31mFAILED\x1b[0m   22\n");
  EXPECT_EQ(table.Render(), "JOB  PHASE     N\na    RUNNING   1\nb    FAILED   22\n");
}

TEST(Table, WithoutRowsIsItsTitles) { EXPECT_EQ(Table({{"A"}, {"B", kRight}}).Render(), "A  B\n"); }

}  // namespace
}  // namespace accel::cli
