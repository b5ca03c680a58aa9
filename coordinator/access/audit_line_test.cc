#include "coordinator/access/audit_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kNoon = absl::UnixEpoch() + absl::Hours(12);

TEST(AuditLineTest, SaysWhoDidWhatToWhat) {
  const AuditEntry entry = {.caller = {CallerKind::kUser, "ann", "07", Role::kUser},
                            .peer = "ipv4:10.0.0.1:4711",
                            .action = "submit",
                            .object = "job-1",
                            .result = "ok"};
  EXPECT_EQ(AuditLine(entry, kNoon),
            R"({"time":"1970-01-01T12:00:00.000Z","action":"submit","object":"job-1",)"
            R"("caller":"user","name":"ann","serial":"07","peer":"ipv4:10.0.0.1:4711",)"
            R"("result":"ok"})"
            "\n");
}

TEST(AuditLineTest, TextFromOutsideStaysInItsField) {
  AuditEntry entry;
  entry.is_known = false;
  entry.object = "job\"}\n{\"action\":\"forged\xff";
  const std::string line = AuditLine(entry, kNoon);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_THAT(line, HasSubstr(R"("object":"job\"}\n{\"action\":\"forged\ufffd")"));
  EXPECT_THAT(line, Not(HasSubstr("\"name\"")));
}

TEST(AuditLineTest, LongTextIsCut) {
  AuditEntry entry;
  entry.result = std::string(100'000, 'x');
  EXPECT_LT(AuditLine(entry, kNoon).size(), 2 * kMaxAuditText);
}

}  // namespace
}  // namespace accel::coordinator
