#include "cli/config/core/document.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ParseDocument, KeepsOrderTypesAndPlaces) {
  ASSERT_OK_AND_ASSIGN(const Node root,
                       ParseDocument("f", "# first\nb: 'no'\na:\n  x: [1, two]\n"));
  ASSERT_EQ(root.members.size(), 2u);
  EXPECT_EQ(root.members[0].key, "b");
  EXPECT_EQ(root.members[0].mark.line, 2);
  EXPECT_EQ(root.members[0].node->value, Value{"no"});
  const Member& inner = root.members[1].node->members.at(0);
  EXPECT_EQ(inner.mark.line, 4);
  EXPECT_EQ(inner.mark.column, 3);
  EXPECT_EQ(PythonText(inner.node->value), "[1, 'two']");
}

TEST(ParseDocument, ReadsJson) {
  ASSERT_OK_AND_ASSIGN(const Node root,
                       ParseDocument("f", "{\n\t\"a\": true,\"b\":{\"c\":null, \"d\":[]}\n}\n"));
  EXPECT_EQ(root.members.at(0).node->value, Value{true});
  EXPECT_TRUE(root.members.at(1).node->is_mapping);
  EXPECT_TRUE(root.members.at(1).node->members.at(0).node->value.is_null());
}

TEST(ParseDocument, RefusesWithThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"a: 1\na: 2\n", "f:2:1: the key a is already on line 1"},
      {"a: &x 1\n", "f:1:4: anchors"},
      {"a: *x\n", "not valid YAML"},
      {"a: !!python/object 1\n", "tags (!name) are not read"},
      {"a: [NO\n", "f:2:1: not valid YAML"},
      {"a: {b: {c: {d: 1}}}\n", "nested too deeply"},
      {"a: [{b: 1}]\n", "f:1:5: a list must hold plain values"},
      {"? [a]\n: 1\n", "a key must be a word"},
      {"- a\n- b\n", "f:1:1: the file must hold keys"},
      {"", "f:1:1: the file is empty"},
      {"# nothing\n", "the file is empty"},
      {"a: 1\n---\nb: 1\n", "a second document"},
      {",a: 1\n", "f:1:1: a second document"},
      {"a: \"\xFF\"\n", "f: not UTF-8"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(ParseDocument("f", text), StatusIs(kInvalid, HasSubstr(message))) << text;
  }
}

TEST(ParseDocument, JoinsTheSurrogatesOfJson) {
  ASSERT_OK_AND_ASSIGN(const Node root,
                       ParseDocument("f.json", R"({"a":["\ud83d\uDE00\\ud83d","\u00e9"]})"));
  EXPECT_EQ(root.members[0].node->words,
            (std::vector<std::string>{"\xf0\x9f\x98\x80\\ud83d", "\xc3\xa9"}));
  EXPECT_THAT(ParseDocument("f.json", "{\"a\":\"\\ud83d\\ude00\\ud83d\\ude00\", \"a\": 1}"),
              StatusIs(kInvalid, StartsWith("f.json:1:34: the key a is already")));
  EXPECT_THAT(ParseDocument("f.json", "{\"a\": \"\\ud83d\\ude00\",\n \"a\": 1}"),
              StatusIs(kInvalid, StartsWith("f.json:2:2: the key a is already")));
  for (const char* half : {R"(\ud83d)", R"(\ude00)", R"(\ud83d\ud83d)", R"(\ud83dx)"}) {
    EXPECT_THAT(ParseDocument("f.json", absl::StrCat("{\"a\":\n\"x", half, "\"}")),
                StatusIs(kInvalid, HasSubstr("f.json:2:3: \\u")))
        << half;
  }
}

TEST(ParseDocument, RefusesControlCharacters) {
  EXPECT_THAT(ParseDocument("f", "\x04"), StatusIs(kInvalid, StartsWith("f:1:1: a control")));
  EXPECT_THAT(ParseDocument("f", "a: 1\nb: x\x04"),
              StatusIs(kInvalid, StartsWith("f:2:5: a control")));
  for (const char control : {'\0', '\x01', '\x1b', '\x7f'}) {
    EXPECT_THAT(ParseDocument("f", std::string("a: x") + control),
                StatusIs(kInvalid, StartsWith("f:1:5: a control")));
  }
  EXPECT_OK(ParseDocument("f", "a:\t1\r\nb: \"\\x04\"\n"));
}

TEST(ParseDocument, AnErrorQuotesTheTextSafely) {
  const absl::Status error = ErrorAt("f", {1, 2}, "got \x1b[2J " + std::string(10'000, 'x'));
  EXPECT_THAT(std::string(error.message()), StartsWith("f:1:2: got \\x1b[2J xxx"));
  EXPECT_LT(error.message().size(), 400u);
}

TEST(ParseDocument, IsBounded) {
  EXPECT_THAT(ParseDocument("f", std::string(kMaxConfigBytes + 1, '#')),
              StatusIs(kInvalid, StartsWith("f: it has 262145 bytes")));
  EXPECT_THAT(ParseDocument("f", absl::StrCat("a: ", std::string(100'000, '['))),
              StatusIs(kInvalid, HasSubstr("f:1:")));
}

}  // namespace
}  // namespace accel::cli
