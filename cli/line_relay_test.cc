#include "cli/line_relay.h"

#include <gtest/gtest.h>

namespace accel::cli {
namespace {

constexpr int kOut = 0;
constexpr int kErr = 1;

TEST(LineRelay, WaitsForWholeLines) {
  LineRelay relay({.prefix = true});
  EXPECT_EQ(relay.Add(0, kOut, 0, "hel"), "");
  EXPECT_EQ(relay.Add(1, kOut, 0, "other\n"), "[rank 1] other\n");
  EXPECT_EQ(relay.Add(0, kOut, 0, "lo\nhalf"), "[rank 0] hello\n");
  EXPECT_EQ(relay.Flush(), "[rank 0] half\n");
  EXPECT_EQ(relay.Flush(), "");
}

TEST(LineRelay, KeepsTheStreamsOfARankApart) {
  LineRelay relay({.prefix = true});
  EXPECT_EQ(relay.Add(0, kOut, 0, "a"), "");
  EXPECT_EQ(relay.Add(0, kErr, 0, "b\n"), "[rank 0] b\n");
  EXPECT_EQ(relay.Add(0, kOut, 0, "c\n"), "[rank 0] ac\n");
}

TEST(LineRelay, ASingleProcessPassesThrough) {
  LineRelay relay({.prefix = false, .terminal = true});
  EXPECT_EQ(relay.Add(0, kOut, 0, "50%\r"), "50%\r");
  EXPECT_EQ(relay.Add(0, kOut, 0, "half"), "half");
}

TEST(LineRelay, MarkedStreamsHaveWholeLinesAndOthersPass) {
  LineRelay relay({.prefix = false, .mark = [](int rank, int stream) -> std::optional<std::string> {
                     if (stream == kErr) return std::nullopt;
                     return "[default" + std::to_string(rank) + "]:";
                   }});
  EXPECT_EQ(relay.Add(2, kOut, 0, "a\nb"), "[default2]:a\n");
  EXPECT_EQ(relay.Add(2, kErr, 0, "half"), "half");
  EXPECT_EQ(relay.Add(2, kOut, 7, "c\n"),
            "[default2]:b\n[default2]:... 7 bytes of output were dropped ...\n[default2]:c\n");
  EXPECT_EQ(relay.Flush(), "");
}

TEST(LineRelay, BytesThatPassEraseTheBarOfAMarkedStream) {
  LineRelay relay({.prefix = false, .terminal = true, .mark = [](int, int stream) {
                     return stream == kErr ? std::optional<std::string>("[default0]:")
                                           : std::nullopt;
                   }});
  EXPECT_EQ(relay.Add(0, kErr, 0, "bar\r"), "[default0]:bar\r");
  EXPECT_EQ(relay.Add(0, kOut, 0, "out\n"), "\x1b[Kout\n");
  EXPECT_EQ(relay.Add(0, kOut, 0, "more\n"), "more\n");
}

TEST(LineRelay, CarriageReturnsEndLines) {
  LineRelay log({.prefix = true, .terminal = false});
  EXPECT_EQ(log.Add(0, kOut, 0, "1%\r2%\rdone\r\n"), "[rank 0] 1%\n[rank 0] 2%\n[rank 0] done\n");
  LineRelay terminal({.prefix = true, .terminal = true});
  EXPECT_EQ(terminal.Add(0, kOut, 0, "1%\r"), "[rank 0] 1%\r");
  EXPECT_EQ(terminal.Add(0, kOut, 0, "2%\r"), "[rank 0] 2%\r");
  EXPECT_EQ(terminal.Add(1, kOut, 0, "x\n"), "\x1b[K[rank 1] x\n");
}

TEST(LineRelay, ALineEndMayComeInTwoPieces) {
  LineRelay log({.prefix = true, .terminal = false});
  EXPECT_EQ(log.Add(0, kOut, 0, "a\r"), "[rank 0] a\n");
  EXPECT_EQ(log.Add(0, kOut, 0, "\nb\n"), "[rank 0] b\n");
  EXPECT_EQ(log.Add(0, kOut, 0, "\r"), "");
  EXPECT_EQ(log.Add(0, kOut, 0, "\n"), "[rank 0] \n");
  EXPECT_EQ(log.Add(0, kOut, 0, "c\r"), "[rank 0] c\n");
  EXPECT_EQ(log.Flush(), "");
}

TEST(LineRelay, OnATerminalTheSecondPieceMakesTheBarALine) {
  LineRelay terminal({.prefix = true, .terminal = true});
  EXPECT_EQ(terminal.Add(0, kOut, 0, "a\r"), "[rank 0] a\r");
  EXPECT_EQ(terminal.Add(0, kOut, 0, "\n"), "\n");
  EXPECT_EQ(terminal.Add(0, kOut, 0, "b\r"), "[rank 0] b\r");
  EXPECT_EQ(terminal.Add(1, kOut, 0, "x\n"), "\x1b[K[rank 1] x\n");
  // The other rank's line erased the bar, so the whole line is printed again.
  EXPECT_EQ(terminal.Add(0, kOut, 0, "\n"), "[rank 0] b\n");
}

TEST(LineRelay, BarsThatBeginWithACarriageReturnPrintNoEmptyLine) {
  LineRelay log({.prefix = true, .terminal = false});
  EXPECT_EQ(log.Add(0, kOut, 0, "\r1%\r2%"), "[rank 0] 1%\n");
  EXPECT_EQ(log.Add(0, kOut, 0, "\n\n"), "[rank 0] 2%\n[rank 0] \n");
}

TEST(LineRelay, ShowsGaps) {
  LineRelay relay({.prefix = true});
  relay.Add(0, kOut, 0, "half");
  EXPECT_EQ(relay.Add(0, kOut, 100, "rest\n"),
            "[rank 0] half\n[rank 0] ... 100 bytes of output were dropped ...\n[rank 0] rest\n");
}

TEST(LineRelay, AnEndlessLineIsBounded) {
  LineRelay relay({.prefix = true});
  size_t written = 0;
  const std::string piece(10000, 'x');
  for (int i = 0; i < 100; ++i) written += relay.Add(0, kOut, 0, piece).size();
  EXPECT_GE(written + relay.Flush().size(), 100 * piece.size());
  EXPECT_GE(written, 100 * piece.size() - (64 << 10) - piece.size());
}

}  // namespace
}  // namespace accel::cli
