#include "weights/core/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

namespace accel::weights {
namespace {

using ::testing::HasSubstr;
using Kind = PickleValue::Kind;

bool only_size(std::string_view global) { return global == "torch Size"; }

std::string error_of(const std::string& bytes) {
  try {
    const Pickle pickle(bytes, only_size);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(PickleTest, ReadsWhatPythonWrites) {
  // pickle.dumps({"a": [1, -2, 300, 70000, 1.5, True, None, b"x"], "b": (1 << 40,)}, 4)
  const std::string bytes(
      "\x80\x04\x95\x39\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"
      "a\x94]\x94(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00G?\xf8\x00\x00\x00\x00\x00\x00\x88NC"
      "\x01x\x94"
      "e\x8c\x01"
      "b\x94\x8a\x06\x00\x00\x00\x00\x00\x01\x85\x94u.",
      68);
  const Pickle pickle(bytes, only_size);
  const PickleValue* list = pickle.root().find("a");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items.size(), 8u);
  EXPECT_EQ(list->items[1]->number, -2);
  EXPECT_EQ(list->items[2]->number, 300);
  EXPECT_EQ(list->items[3]->number, 70000);
  EXPECT_EQ(list->items[4]->real, 1.5);
  EXPECT_EQ(list->items[5]->kind, Kind::kBool);
  EXPECT_EQ(list->items[6]->kind, Kind::kNone);
  EXPECT_EQ(list->items[7]->text, "x");
  EXPECT_EQ(pickle.root().find("b")->items[0]->number, 1LL << 40);
  EXPECT_EQ(pickle.root().find("c"), nullptr);
}

TEST(PickleTest, ACallIsAValueAndIsNotMade) {
  const Pickle pickle("ctorch\nSize\n(K\x05K\x03t\x85R.", only_size);
  EXPECT_TRUE(pickle.root().is_object_of("torch Size"));
  EXPECT_EQ(pickle.root().items[1]->items[0]->items[1]->number, 3);
}

// A search through its states would never end.
TEST(PickleTest, AnObjectMayBeItsOwnState) {
  const std::string bytes("ctorch\nSize\n)Rq\0h\0b.", 20);
  const Pickle pickle(bytes, only_size);
  EXPECT_EQ(pickle.root().state, &pickle.root());
  EXPECT_EQ(pickle.root().find("key"), nullptr);
}

TEST(PickleTest, AnUnknownGlobalIsRefused) {
  EXPECT_THAT(error_of("cos\nsystem\n(X\x02\0\0\0lsR."), HasSubstr("it names os system"));
  EXPECT_THAT(error_of("\x8c\x02os\x8c\x06system\x93."), HasSubstr("it names os system"));
  EXPECT_THAT(error_of("c\x1b[2J\nx\n."), HasSubstr("it names \\x1b[2J x"));
}

TEST(PickleTest, MalformedBytesAreRefused) {
  for (const std::string& bytes :
       {std::string(), std::string("."), std::string("a."), std::string("t."), std::string("b."),
        std::string("R."), std::string("K"), std::string("h\x05."), std::string("]]s."),
        std::string("}(K\x01u."), std::string("NNb."), std::string("NNR."), std::string("(."),
        std::string("X\xff\xff\xff\xff"), std::string("\x8a\x09"), std::string("ctorch"),
        std::string("K\x01K\x01\x93."), std::string("I1\n.")}) {
    EXPECT_THAT(error_of(bytes), HasSubstr("of the pickle")) << bytes;
  }
}

TEST(PickleTest, RandomBytesNeverEndTheProgram) {
  std::mt19937 random(7);
  const std::string opcodes = "()]}tuesabRQNK\x88\x85\x86\x87\x81\x94h\x8c.q";
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes;
    for (int length = 0; length < 30; ++length) {
      bytes +=
          random() % 4 == 0 ? static_cast<char>(random() % 8) : opcodes[random() % opcodes.size()];
    }
    error_of(bytes);
  }
}

}  // namespace
}  // namespace accel::weights
