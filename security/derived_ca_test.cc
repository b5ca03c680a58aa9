#include "security/derived_ca.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "common/status_matchers.h"

namespace accel::security {
namespace {

// The first case of RFC 5869.
TEST(DerivedCaTest, HkdfIsThatOfTheStandard) {
  ASSERT_OK_AND_ASSIGN(
      const std::string derived,
      Hkdf(std::string(22, '\x0b'), absl::HexStringToBytes("000102030405060708090a0b0c"),
           absl::HexStringToBytes("f0f1f2f3f4f5f6f7f8f9"), 42));
  EXPECT_EQ(absl::BytesToHexString(derived),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
}

TEST(DerivedCaTest, BothSidesMakeTheSameCertificate) {
  ASSERT_OK_AND_ASSIGN(const Authority one, DeriveAuthority("secret", "10.0.0.1 7337 2"));
  ASSERT_OK_AND_ASSIGN(const Authority two, DeriveAuthority("secret", "10.0.0.1 7337 2"));
  EXPECT_EQ(one.certificate.ToDer(), two.certificate.ToDer());
}

TEST(DerivedCaTest, ALeafOfOneSideIsAcceptedByTheOther) {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  ASSERT_OK_AND_ASSIGN(const Authority one, DeriveAuthority("secret", "a"));
  ASSERT_OK_AND_ASSIGN(const Authority two, DeriveAuthority("secret", "a"));
  ASSERT_OK_AND_ASSIGN(const PrivateKey key, PrivateKey::Make());
  ASSERT_OK_AND_ASSIGN(const Certificate leaf, IssueServer(one, key.public_key(), now));
  EXPECT_OK(Verify(leaf, {two.certificate}, Purpose::kServer, now));
  for (const auto& [secret, info] : {std::pair("other", "a"), std::pair("secret", "b")}) {
    ASSERT_OK_AND_ASSIGN(const Authority other, DeriveAuthority(secret, info));
    EXPECT_FALSE(Verify(leaf, {other.certificate}, Purpose::kServer, now).ok());
  }
}

}  // namespace
}  // namespace accel::security
