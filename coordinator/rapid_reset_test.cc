// A client with a valid certificate that opens streams and resets them at once (rapid reset).

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "coordinator/raw_http2_fixture.h"

namespace accel::coordinator {
namespace {

class RapidResetTest : public RawHttp2Test {
 protected:
  // Waits for the first line of the audit log about a connection, which a thread writes.
  static nlohmann::json FirstCut() {
    for (int i = 0; i < 10'000; ++i) {
      std::ifstream file(AuditLogPath());
      for (std::string line; std::getline(file, line);) {
        nlohmann::json entry = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
        if (entry.is_object() && entry.value("object", "") == "connection") return entry;
      }
      absl::SleepFor(absl::Milliseconds(1));
    }
    return nlohmann::json::object();
  }
};

// A call of ListNodes waits for its request. A user's call of Agent is refused at once.
class RapidResetOfMethod : public RapidResetTest,
                           public ::testing::WithParamInterface<std::string> {};

INSTANTIATE_TEST_SUITE_P(Methods, RapidResetOfMethod, ::testing::Values("ListNodes", "Agent"));

TEST_P(RapidResetOfMethod, TheConnectionIsCutAndOthersAreServed) {
  bool open = true;
  for (uint32_t stream = 3; open && stream < 20'000'000; stream += 200) {
    std::string burst;
    for (uint32_t i = stream; i < stream + 200; i += 2) {
      absl::StrAppend(&burst, Frame(kHeaders, kEndHeaders, i, RequestHeaders(GetParam())),
                      Frame(kResetStream, 0, i, std::string("\0\0\0\x08", 4)));
    }
    open = Send(burst) && Drain();
  }
  EXPECT_FALSE(open);
  const nlohmann::json cut = FirstCut();
  EXPECT_EQ(cut.value("caller", ""), "user");
  EXPECT_EQ(cut.value("name", ""), "ann");
  EXPECT_THAT(cut.value("result", ""), ::testing::HasSubstr("resets streams"));
  EXPECT_OK(Submit("served"));
}

}  // namespace
}  // namespace accel::coordinator
