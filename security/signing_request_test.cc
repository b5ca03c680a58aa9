#include "security/signing_request.h"

#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <random>
#include <string>

#include "common/status_matchers.h"

namespace accel::security {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kInvalidArgument;

std::string Der(X509_REQ* request) {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509_REQ(request, &bytes);
  std::string der(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

// Returns a request for `key` with a subject, signed by `signer`.
std::string Request(EVP_PKEY* key, EVP_PKEY* signer, const std::string& subject) {
  X509_REQ* const request = X509_REQ_new();
  X509_REQ_set_pubkey(request, key);
  X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(subject.data()),
                             static_cast<int>(subject.size()), -1, 0);
  EXPECT_GT(X509_REQ_sign(request, signer, EVP_sha256()), 0);
  std::string der = Der(request);
  X509_REQ_free(request);
  return der;
}

TEST(SigningRequestTest, GivesTheKeyBack) {
  ASSERT_OK_AND_ASSIGN(const PrivateKey key, PrivateKey::Make());
  ASSERT_OK_AND_ASSIGN(const std::string request, MakeRequest(key));
  ASSERT_OK_AND_ASSIGN(const PublicKey found, CheckRequest(request));
  EXPECT_EQ(found.ToDer(), key.public_key().ToDer());
}

TEST(SigningRequestTest, TakesEd25519) {
  ASSERT_OK_AND_ASSIGN(const PrivateKey key, PrivateKey::FromSeed(std::string(32, 's')));
  ASSERT_OK_AND_ASSIGN(const std::string request, MakeRequest(key));
  EXPECT_OK(CheckRequest(request));
}

TEST(SigningRequestTest, IgnoresTheSubject) {
  ASSERT_OK_AND_ASSIGN(const PrivateKey key, PrivateKey::Make());
  ASSERT_OK_AND_ASSIGN(const PublicKey found, CheckRequest(Request(key.get(), key.get(), "admin")));
  EXPECT_EQ(found.ToDer(), key.public_key().ToDer());
}

TEST(SigningRequestTest, RefusesOtherKindsOfKeys) {
  EVP_PKEY* const rsa = EVP_RSA_gen(2048);
  EXPECT_THAT(CheckRequest(Request(rsa, rsa, "n")).status(),
              StatusIs(kRefused, HasSubstr("neither P-256 nor Ed25519")));
  EVP_PKEY_free(rsa);
  EVP_PKEY* const p384 = EVP_EC_gen("P-384");
  EXPECT_THAT(CheckRequest(Request(p384, p384, "n")).status(),
              StatusIs(kRefused, HasSubstr("neither P-256 nor Ed25519")));
  EVP_PKEY_free(p384);
}

TEST(SigningRequestTest, RefusesTheSignatureOfAnotherKey) {
  ASSERT_OK_AND_ASSIGN(const PrivateKey key, PrivateKey::Make());
  ASSERT_OK_AND_ASSIGN(const PrivateKey other, PrivateKey::Make());
  EXPECT_THAT(CheckRequest(Request(key.get(), other.get(), "n")).status(),
              StatusIs(kRefused, HasSubstr("not signed with its own key")));
}

TEST(SigningRequestTest, RefusesBytesThatAreNoRequest) {
  ASSERT_OK_AND_ASSIGN(const PrivateKey key, PrivateKey::Make());
  ASSERT_OK_AND_ASSIGN(const std::string request, MakeRequest(key));
  EXPECT_THAT(CheckRequest(request + "x").status(), StatusIs(kRefused, HasSubstr("other bytes")));
  EXPECT_THAT(CheckRequest("").status(), StatusIs(kRefused, HasSubstr("not PKCS#10")));
  EXPECT_THAT(CheckRequest(std::string(5 << 10, 'x')).status(),
              StatusIs(kRefused, HasSubstr("has 5120 bytes; at most 4096")));
  // A valid request with a long subject.
  EXPECT_THAT(CheckRequest(request + std::string(4096, '\0')).status(),
              StatusIs(kRefused, HasSubstr("at most 4096")));
}

// No change of a request is accepted with another key, and none ends the process.
TEST(SigningRequestTest, ChangedRequestsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const PrivateKey key, PrivateKey::Make());
  ASSERT_OK_AND_ASSIGN(const std::string request, MakeRequest(key));
  std::mt19937 random(12);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = request;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) changed.resize(random() % changed.size());
    const auto found = CheckRequest(changed);
    if (found.ok()) {
      ASSERT_EQ(found->ToDer(), key.public_key().ToDer());
    }
  }
}

}  // namespace
}  // namespace accel::security
