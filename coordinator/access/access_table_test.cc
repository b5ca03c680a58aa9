#include "coordinator/access/access_table.h"

#include <google/protobuf/descriptor.h>

#include <set>
#include <string>

#include "common/status_matchers.h"
#include "proto/access.pb.h"
#include "proto/blobs.pb.h"
#include "proto/service.pb.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(AccessTableTest, NamesEveryMethodOnce) {
  std::set<std::string> methods;
  for (const auto* file :
       {v1::SubmitJobRequest::descriptor()->file(), v1::AddTokenRequest::descriptor()->file(),
        v1::BlobChunk::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        methods.insert(file->service(i)->method(j)->full_name());
      }
      EXPECT_LE(file->service(i)->method_count(), 8);
    }
  }
  std::set<std::string> named;
  std::set<Method> ruled;
  for (const AccessRule& rule : AccessRules()) {
    EXPECT_TRUE(named.insert(std::string(rule.name)).second) << rule.name;
    EXPECT_TRUE(ruled.insert(rule.method).second) << rule.name;
    EXPECT_GT(rule.at_once, 0) << rule.name;
  }
  EXPECT_EQ(named, methods);
}

TEST(AccessTableTest, SaysWhatIsMissing) {
  const Caller viewer = {CallerKind::kUser, "vic", "04", Role::kViewer};
  EXPECT_THAT(CheckAccess(viewer, Method::kSubmitJob).status(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       "SubmitJob needs the role user, and vic has the role viewer; ask an "
                       "administrator"));
  EXPECT_THAT(CheckAccess(viewer, Method::kAgent).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("only agents")));
  EXPECT_THAT(CheckAccess({CallerKind::kNode, "n", "05", Role::kAdmin}, Method::kListJobs).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("a node may not")));
}

TEST(AccessTableTest, AMethodWithoutARuleIsRefused) {
  EXPECT_TRUE(absl::IsPermissionDenied(CheckAccess(Owner(), static_cast<Method>(1000)).status()));
}

}  // namespace
}  // namespace accel::coordinator
