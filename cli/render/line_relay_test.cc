#include "cli/render/line_relay.h"

#include <gtest/gtest.h>

#include <vector>

namespace accel {
namespace {

std::string Relay(const std::vector<std::string>& chunks) {
  LineRelay relay("[3] ");
  std::string out;
  for (const std::string& chunk : chunks) relay.Add(chunk, &out);
  relay.Finish(&out);
  return out;
}

TEST(LineRelay, PrefixesWholeLinesOnly) {
  LineRelay relay("[3] ");
  std::string out;
  relay.Add("one\ntw", &out);
  EXPECT_EQ(out, "[3] one\n");
  relay.Add("o\n\nthree", &out);
  EXPECT_EQ(out, "[3] one\n[3] two\n[3] \n");
  relay.Finish(&out);
  EXPECT_EQ(out, "[3] one\n[3] two\n[3] \n[3] three\n");
}

TEST(LineRelay, ProgressBarsBecomeLines) {
  EXPECT_EQ(Relay({"\r10%\r20%\r", "30%\n"}), "[3] 10%\n[3] 20%\n[3] 30%\n");
}

TEST(LineRelay, ReturnAndNewlineAreOneEnd) {
  EXPECT_EQ(Relay({"a\r\nb\r", "\nc"}), "[3] a\n[3] b\n[3] c\n");
}

TEST(LineRelay, TheSameInAnyPieces) {
  const std::string text = "a\r\n\nb\rc\r\rd\n\re";
  std::vector<std::string> bytes;
  for (char c : text) bytes.emplace_back(1, c);
  EXPECT_EQ(Relay(bytes), Relay({text}));
}

TEST(LineRelay, BreaksEndlessLines) {
  LineRelay relay("");
  std::string out;
  for (int i = 0; i < 100; ++i) relay.Add(std::string(1000, 'x'), &out);
  EXPECT_EQ(out.size(), 6 * (LineRelay::kLongestLine + 1));
  EXPECT_EQ(out.find('\n'), LineRelay::kLongestLine);
}

}  // namespace
}  // namespace accel
