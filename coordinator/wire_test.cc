#include "coordinator/wire.h"

#include <gtest/gtest.h>

#include <string>

#include "common/status_matchers.h"
#include "proto/service.pb.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr WireBounds kBounds{1 << 20, 100};

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

absl::Status ParseReport(const std::string& bytes, const WireBounds& bounds = kBounds) {
  v1::NodeObserved message;
  return Parse(Bytes(bytes), bounds, &message);
}

v1::NodeObserved Report(int generations, int workers) {
  v1::NodeObserved report;
  report.set_name("a");
  for (int i = 0; i < generations; ++i) {
    v1::ObservedGeneration* generation = report.add_generations();
    for (int j = 0; j < workers; ++j) generation->add_workers();
  }
  return report;
}

TEST(WireTest, WhatIsWrittenIsRead) {
  v1::NodeObserved report = Report(3, 4);
  report.mutable_inventory()->add_gpus()->set_name("H200");
  v1::NodeObserved read;
  ASSERT_OK(Parse(ToBytes(report), kBounds, &read));
  EXPECT_EQ(read.SerializeAsString(), report.SerializeAsString());
  EXPECT_OK(ParseReport(""));
}

TEST(WireTest, ElementsAreCountedAtAnyDepth) {
  // The elements are the name, the generations, and their workers.
  EXPECT_OK(ParseReport(Report(9, 10).SerializeAsString()));
  EXPECT_THAT(ParseReport(Report(9, 11).SerializeAsString()),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("NodeObserved: has more than 100 elements")));
  EXPECT_THAT(ParseReport(Report(1000, 0).SerializeAsString()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("100 elements")));
}

TEST(WireTest, NumbersAndUnknownFieldsCountToo) {
  v1::JobSpec spec;
  for (int i = 0; i < 10'000; ++i) spec.add_gpu_ids(1);
  v1::JobSpec parsed;
  EXPECT_THAT(Parse(ToBytes(spec), kBounds, &parsed),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("100 elements")));
  std::string unknown;
  for (int i = 0; i < 101; ++i) unknown += std::string("\xf8\x3f\x00", 3);  // Field 1023 is 0.
  EXPECT_THAT(ParseReport(unknown),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("100 elements")));
}

TEST(WireTest, FieldsOfAnotherWireTypeCountAsUnknownOnes) {
  std::string wrong;
  for (int i = 0; i < 101; ++i) wrong += std::string("\x08\x00", 2);  // node_id is a number.
  v1::NodeObserved message;
  ASSERT_TRUE(message.ParseFromString(wrong));
  EXPECT_EQ(message.GetReflection()->GetUnknownFields(message).field_count(), 101);
  EXPECT_THAT(ParseReport(wrong),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("100 elements")));
}

// The parser keeps unknown groups with all their fields, of which each takes many times its size.
TEST(WireTest, GroupsAreRefused) {
  std::string group = "\xfb\x3f";  // Field 1023 begins as a group...
  for (int i = 0; i < 1000; ++i) group += std::string("\x08\x00", 2);
  group += "\xfc\x3f";  // ...and ends.
  v1::NodeObserved message;
  ASSERT_TRUE(message.ParseFromString(group));
  EXPECT_THAT(ParseReport(group),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("NodeObserved")));
}

TEST(WireTest, BytesAreBounded) {
  EXPECT_THAT(ParseReport(Report(1, 90).SerializeAsString(), {100, 100}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("100 bytes")));
}

TEST(WireTest, EveryTruncationAndChangedByteIsHandled) {
  const std::string good = Report(3, 3).SerializeAsString();
  for (size_t i = 0; i < good.size(); ++i) {
    // A message that is cut inside an element cannot be parsed. One that is cut between two can.
    v1::NodeObserved cut;
    EXPECT_EQ(ParseReport(good.substr(0, i)).ok(), cut.ParseFromString(good.substr(0, i))) << i;
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = good;
      changed[i] = static_cast<char>(byte);
      v1::NodeObserved message;
      EXPECT_EQ(ParseReport(changed).ok(), message.ParseFromString(changed)) << i << " " << byte;
    }
  }
  EXPECT_THAT(ParseReport("\xff\xff\xff\xff garbage"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("NodeObserved")));
}

}  // namespace
}  // namespace accel::coordinator
