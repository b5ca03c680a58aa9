#include "security/principal.h"

#include <random>
#include <string>

#include "common/status_matchers.h"

namespace accel::security {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kSerial[] = "0123456789abcdef0123456789abcdef";

Principal Node() { return {"4af1", PrincipalKind::kNode, "n-7.rack_2", kSerial}; }

TEST(PrincipalTest, ReadsWhatItWrites) {
  EXPECT_EQ(PrincipalUri(Node()), "spiffe://4af1/node/n-7.rack_2/0123456789abcdef0123456789abcdef");
  ASSERT_OK_AND_ASSIGN(const Principal node, ParsePrincipal(PrincipalUri(Node())));
  EXPECT_EQ(node, Node());
  const Principal user = {"4af1", PrincipalKind::kUser, "ann", kSerial};
  ASSERT_OK_AND_ASSIGN(const Principal read, ParsePrincipal(PrincipalUri(user)));
  EXPECT_EQ(read, user);
}

TEST(PrincipalTest, EachWrongPartIsNamed) {
  const std::string serial = kSerial;
  const auto error = [](const std::string& uri) {
    return std::string(ParsePrincipal(uri).status().message());
  };
  EXPECT_THAT(error("https://c/node/n/" + serial), HasSubstr("spiffe"));
  EXPECT_THAT(error("spiffe://c/node/n"), HasSubstr("CLUSTER/KIND/NAME/SERIAL"));
  EXPECT_THAT(error("spiffe://c/node/n/" + serial + "/x"), HasSubstr("CLUSTER/KIND/NAME/SERIAL"));
  EXPECT_THAT(error("spiffe:///node/n/" + serial), HasSubstr("cluster"));
  EXPECT_THAT(error("spiffe://C/node/n/" + serial), HasSubstr("cluster"));
  EXPECT_THAT(error("spiffe://c/admin/n/" + serial), HasSubstr("neither"));
  EXPECT_THAT(error("spiffe://c/node//" + serial), HasSubstr("name"));
  EXPECT_THAT(error("spiffe://c/node/../" + serial), HasSubstr("name"));
  EXPECT_THAT(error("spiffe://c/node/a b/" + serial), HasSubstr("name"));
  EXPECT_THAT(error("spiffe://c/node/n/" + serial.substr(1)), HasSubstr("serial"));
  EXPECT_THAT(error("spiffe://c/node/n/" + serial.substr(1) + "A"), HasSubstr("serial"));
  EXPECT_THAT(error("spiffe://c/node/" + std::string(300, 'n') + "/" + serial),
              HasSubstr("too long"));
}

TEST(PrincipalTest, NamesAreBounded) {
  EXPECT_OK(CheckPrincipalName("a user", std::string(128, 'a')));
  EXPECT_THAT(CheckPrincipalName("a user", std::string(129, 'a')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a user must be 1 to 128")));
  for (const char* name : {"", "-a", ".", "..", "a/b", "a\n", "\xc3\xa4"}) {
    EXPECT_FALSE(CheckPrincipalName("a user", name).ok()) << name;
  }
}

// Whatever is accepted is written back as it was, so no two texts name one principal.
TEST(PrincipalTest, AcceptedTextsAreCanonical) {
  std::mt19937 random(12);
  const std::string alphabet = "spiffe:/nodeuser0af-._A \n";
  int accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string uri = PrincipalUri(Node());
    for (unsigned changes = random() % 4; changes > 0; --changes) {
      const size_t at = random() % uri.size();
      if (random() % 3 == 0) {
        uri.erase(at, 1);
      } else {
        uri[at] = alphabet[random() % alphabet.size()];
      }
    }
    const auto read = ParsePrincipal(uri);
    if (!read.ok()) continue;
    ++accepted;
    ASSERT_EQ(PrincipalUri(*read), uri);
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace accel::security
