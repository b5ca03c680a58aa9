#include "coordinator/access/certificate_caller.h"

#include "common/status_matchers.h"
#include "coordinator/access/memory_credential_table.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

const Caller kAnn = {CallerKind::kUser, "ann", "07", Role::kUser};
const Caller kNode = {CallerKind::kNode, "n1", "08", Role::kViewer};

class CertificateCallerTest : public ::testing::Test {
 protected:
  CertificateCallerTest() {
    table_.Put(kAnn);
    table_.Put(kNode);
  }
  absl::StatusOr<Caller> Of(const std::string& uri) {
    return CallerOfCertificate({uri}, "", table_);
  }

  MemoryCredentialTable table_;
};

TEST_F(CertificateCallerTest, TheTableDecides) {
  ASSERT_OK_AND_ASSIGN(const Caller ann, Of("spiffe://c/user/ann/07"));
  EXPECT_EQ(ann, kAnn);
  ASSERT_OK_AND_ASSIGN(const Caller node, Of("spiffe://c/node/n1/08"));
  EXPECT_EQ(node, kNode);
  table_.Revoke("07");
  EXPECT_THAT(Of("spiffe://c/user/ann/07"),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("revoked")));
}

TEST_F(CertificateCallerTest, TheNameAndKindAreThoseOfTheTable) {
  for (const char* uri : {"spiffe://c/user/bob/07", "spiffe://c/node/ann/07",
                          "spiffe://c/user/n1/08", "spiffe://c/node/n1/07",
                          "spiffe://c/user/xann/07", "07", "/07", "spiffe://c/user/ann/", ""}) {
    EXPECT_THAT(Of(uri), StatusIs(absl::StatusCode::kUnauthenticated, ::testing::_)) << uri;
  }
}

TEST_F(CertificateCallerTest, ACertificateHasOneName) {
  const std::string uri = "spiffe://c/user/ann/07";
  EXPECT_FALSE(CallerOfCertificate({}, "", table_).ok());
  EXPECT_FALSE(CallerOfCertificate({uri, uri}, "", table_).ok());
  EXPECT_FALSE(Of(std::string(1000, 'x') + uri).ok());
}

TEST_F(CertificateCallerTest, NoCertificateMakesAnOwner) {
  table_.Put({CallerKind::kOwner, "ann", "09", Role::kAdmin});
  EXPECT_FALSE(Of("spiffe://c/user/ann/09").ok());
}

}  // namespace
}  // namespace accel::coordinator
