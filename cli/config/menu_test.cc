#include "cli/config/menu.h"

#include <gtest/gtest.h>

namespace accel::cli {
namespace {

// Types `keys` into a menu and returns the option that is taken, or "-" if none is.
std::string Take(const std::string& keys, size_t first = 0) {
  Menu menu({"no", "fp16", "bf16", "fp8"}, first);
  for (char key : keys) {
    const Menu::Step step = menu.TakeByte(key);
    if (step == Menu::Step::kTaken) return menu.options()[menu.chosen()];
    if (step == Menu::Step::kCancelled) return "cancelled";
  }
  return "-";
}

TEST(Menu, ArrowsMoveAround) {
  EXPECT_EQ(Take("\r"), "no");
  EXPECT_EQ(Take("\x1b[B\r"), "fp16");
  EXPECT_EQ(Take("\x1b[A\r"), "fp8");
  EXPECT_EQ(Take("\x1bOB\x1bOB\r"), "bf16");
  EXPECT_EQ(Take("jjk\r"), "fp16");
  EXPECT_EQ(Take("\x1b[B\r", 3), "no");
}

TEST(Menu, TypingSelects) {
  EXPECT_EQ(Take("b\r"), "bf16");
  EXPECT_EQ(Take("fp8\r"), "fp8");
  EXPECT_EQ(Take("fp8\x7f\x7f\x7f\x7f"
                 "bf\n"),
            "bf16");
  EXPECT_EQ(Take("3\r"), "fp8");
  EXPECT_EQ(Take("zzz\r"), "no");
}

TEST(Menu, CtrlCCancels) {
  EXPECT_EQ(Take("b\x03"), "cancelled");
  EXPECT_EQ(Take("bf"), "-");
}

TEST(Menu, MarksTheSelection) {
  Menu menu({"a", "b"}, 1);
  EXPECT_EQ(menu.Render(), "  a\x1b[K\r\n\x1b[1m> b\x1b[0m\x1b[K\r\n");
}

}  // namespace
}  // namespace accel::cli
