#include "cli/json_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace accel::cli {
namespace {

TEST(JsonLines, AnObjectPerLineOfARank) {
  JsonLines lines("stdout");
  EXPECT_EQ(lines.Add(0, 0, "a\nb"),
            R"({"schema_version": 1, "rank": 0, "stream": "stdout", "text": "a"})"
            "\n");
  EXPECT_EQ(lines.Add(1, 0, "x"), "");
  EXPECT_EQ(lines.Add(0, 0, "\n"),
            R"({"schema_version": 1, "rank": 0, "stream": "stdout", "text": "b"})"
            "\n");
  EXPECT_EQ(lines.Flush(), R"({"schema_version": 1, "rank": 1, "stream": "stdout", "text": "x"})"
                           "\n");
  EXPECT_EQ(lines.Flush(), "");
}

TEST(JsonLines, AGapStandsWhereBytesAreMissing) {
  JsonLines lines("stderr");
  lines.Add(0, 0, "before");
  EXPECT_EQ(lines.Add(0, 5, "after\n"),
            R"({"schema_version": 1, "rank": 0, "stream": "stderr", "text": "before"}
{"schema_version": 1, "rank": 0, "stream": "stderr", "gap_bytes": 5}
{"schema_version": 1, "rank": 0, "stream": "stderr", "text": "after"}
)");
}

TEST(JsonLines, ALongLineIsDivided) {
  JsonLines lines("stdout");
  const std::string out = lines.Add(0, 0, std::string((64 << 10) + 1, 'x') + "\n");
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 2);
  EXPECT_NE(out.find("\"text\": \"x\"}"), std::string::npos);
}

}  // namespace
}  // namespace accel::cli
