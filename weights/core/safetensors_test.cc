#include "weights/core/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "common/checkpoint_error.h"

namespace accel::weights {
namespace {

using Dtype = SafetensorsDtype;
using ::testing::HasSubstr;

SafetensorsHeader parse(const std::string& json, std::uint64_t data_size) {
  return parse_header(json, 8 + json.size() + data_size, "m.safetensors");
}

std::string refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// The bytes that safetensors 0.8.0 for Python writes for the tensors of same_tensors().
constexpr char kPythons[] =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
    R"("s":{"dtype":"F64","shape":[],"data_offsets":[16,24]},)"
    R"("e":{"dtype":"F32","shape":[0,3],"data_offsets":[24,24]},)"
    "\"é\\\"\\n\\u0001/\x7f\":"
    R"({"dtype":"F32","shape":[1],"data_offsets":[24,28]},)"
    R"("w":{"dtype":"BF16","shape":[3],"data_offsets":[28,34]},)"
    R"("b":{"dtype":"BOOL","shape":[2],"data_offsets":[34,36]}}       )";

SafetensorsHeader same_tensors() {
  return lay_out({{.name = "w", .dtype = Dtype::kBF16, .shape = {3}},
                  {.name = "é\"\n\x01/\x7f", .dtype = Dtype::kF32, .shape = {1}},
                  {.name = "a", .dtype = Dtype::kI64, .shape = {2}},
                  {.name = "b", .dtype = Dtype::kBool, .shape = {2}},
                  {.name = "e", .dtype = Dtype::kF32, .shape = {0, 3}},
                  {.name = "s", .dtype = Dtype::kF64, .shape = {}}});
}

TEST(Safetensors, WritesTheSameBytesAsPython) {
  const std::string bytes = header_bytes(same_tensors());
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x80\x01\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(8), kPythons);
}

TEST(Safetensors, ReadsBackWhatItLaidOut) {
  const SafetensorsHeader written = same_tensors();
  const std::string bytes = header_bytes(written);
  EXPECT_EQ(header_length(bytes.substr(0, 8), bytes.size() + 36, "m"), bytes.size() - 8);
  const SafetensorsHeader read = parse_header(bytes.substr(8), bytes.size() + 36, "m");
  EXPECT_EQ(read.entries, written.entries);
  EXPECT_EQ(read.metadata, written.metadata);
  EXPECT_EQ(read.data_begin, bytes.size());
  EXPECT_EQ(read.data_size, 36u);
  EXPECT_EQ(read.find("w")->end, 34u);
  EXPECT_EQ(read.find("x"), nullptr);
}

TEST(Safetensors, AFileMayHaveNoTensors) {
  const std::string bytes = header_bytes(lay_out({}));
  EXPECT_EQ(bytes, std::string(" \0\0\0\0\0\0\0", 8) + R"({"__metadata__":{"format":"pt"}})");
  const SafetensorsHeader read = parse_header(bytes.substr(8), bytes.size(), "m");
  EXPECT_TRUE(read.entries.empty());
  EXPECT_EQ(read.data_begin, bytes.size());
  EXPECT_EQ(read.data_size, 0u);
}

TEST(Safetensors, HeaderLengthsAreChecked) {
  const std::string five("\5\0\0\0\0\0\0\0", 8);
  EXPECT_EQ(header_length(five, 13, "m"), 5u);
  EXPECT_THAT(refusal([&] { header_length(five, 12, "m"); }),
              HasSubstr("m: its header would have 5 bytes"));
  EXPECT_THAT(refusal([&] { header_length("\5", 1, "m"); }), HasSubstr("only 1 bytes"));
  const std::string huge("\0\0\0\0\0\0\0\x80", 8);
  EXPECT_THAT(refusal([&] { header_length(huge, UINT64_MAX, "m"); }), HasSubstr("too many"));
}

TEST(Safetensors, MalformedHeadersAreRefused) {
  const struct {
    const char* json;
    const char* reason;
  } cases[] = {
      {"[]", "not a JSON object"},
      {"{\"a\":", "not a JSON object"},
      {"{\"a\":1}", "tensor a is malformed"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "malformed"},
      {R"({"a":{"dtype":"Q4","shape":[1],"data_offsets":[0,4]}})", "dtype Q4"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "-1 in place of a size"},
      {R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "1.5 in place of a size"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "do not match its shape"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "do not match its shape"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})",
       "overflows"},
      {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})", "leave a gap"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       "overlap"},
      {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", "but its header requires"},
      {R"({"__metadata__":{"a":1}})", "metadata"},
      {R"({"__metadata__":"a"})", "metadata"},
  };
  for (const auto& [json, reason] : cases) {
    EXPECT_THAT(refusal([json = json] { parse(json, 4); }), HasSubstr(reason)) << json;
  }
}

// nlohmann's dump() and copies recurse, so deep nesting would overflow the stack.
TEST(Safetensors, DeepNestingIsRefused) {
  const std::string deep = std::string(1 << 20, '[') + std::string(1 << 20, ']');
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[)" + deep + R"(],"data_offsets":[0,4]}})";
  EXPECT_THAT(refusal([&] { parse(header, 4); }), HasSubstr("not a JSON object"));
}

}  // namespace
}  // namespace accel::weights
