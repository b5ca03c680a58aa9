// Parses protobuf messages from text, for tests.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace accel::common {

// Returns the message that `text` has in protobuf's text format. Malformed text fails the test.
template <typename Message>
Message ParseText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

}  // namespace accel::common
