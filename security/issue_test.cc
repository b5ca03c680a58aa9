#include "security/issue.h"

#include <openssl/x509v3.h>
#include <stdlib.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::security {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

// Returns the extensions of a certificate, each as "name[!]: value", with "!" if it is critical.
std::vector<std::string> Extensions(const Certificate& certificate) {
  std::vector<std::string> found;
  for (int i = 0; i < X509_get_ext_count(certificate.get()); ++i) {
    X509_EXTENSION* const extension = X509_get_ext(certificate.get(), i);
    const int nid = OBJ_obj2nid(X509_EXTENSION_get_object(extension));
    if (nid == NID_subject_key_identifier || nid == NID_authority_key_identifier) continue;
    BIO* const bio = BIO_new(BIO_s_mem());
    X509V3_EXT_print(bio, extension, 0, 0);
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio, &text);
    found.push_back(absl::StrCat(OBJ_nid2sn(nid), X509_EXTENSION_get_critical(extension) ? "!" : "",
                                 ": ", std::string(text, static_cast<size_t>(size))));
    BIO_free(bio);
  }
  return found;
}

class IssueTest : public ::testing::Test {
 protected:
  // The configuration makes OpenSSL useless for programs that load it: no algorithm is left.
  static void SetUpTestSuite() {
    const std::string path = absl::StrCat(::testing::TempDir(), "/openssl.cnf");
    std::ofstream(path) << "openssl_conf = all\n[all]\nproviders = some\n[some]\nnull = one\n"
                           "[one]\nactivate = 1\n";
    setenv("OPENSSL_CONF", path.c_str(), 1);
  }

  IssueTest() {
    auto authority = MakeAuthority("c1", kNow);
    EXPECT_OK(authority);
    authority_.push_back(*authority);
  }

  Certificate Client(PrincipalKind kind) {
    const auto key = PrivateKey::Make();
    const auto serial = MakeSerial();
    principal_ = {"c1", kind, "ann", *serial};
    const auto certificate = IssueClient(authority_[0], key->public_key(), principal_, kNow);
    EXPECT_OK(certificate);
    return *certificate;
  }

  Certificate Server() {
    const auto key = PrivateKey::Make();
    const auto certificate = IssueServer(authority_[0], key->public_key(), kNow);
    EXPECT_OK(certificate);
    return *certificate;
  }

  absl::Status VerifyNow(const Certificate& leaf, Purpose purpose, absl::Time now = kNow) {
    return Verify(leaf, {authority_[0].certificate}, purpose, now);
  }

  std::vector<Authority> authority_;
  Principal principal_;
};

TEST_F(IssueTest, AnAuthoritySignsLeavesAndNoFurtherAuthorities) {
  EXPECT_THAT(Extensions(authority_[0].certificate),
              ::testing::ElementsAre("basicConstraints!: CA:TRUE, pathlen:0",
                                     "keyUsage!: Certificate Sign"));
  EXPECT_EQ(authority_[0].certificate.not_before(), absl::UnixEpoch());
  EXPECT_EQ(authority_[0].certificate.not_after(), kNow + kAuthorityLife);
}

TEST_F(IssueTest, AServerHasTheNameAndIsNoClient) {
  const Certificate server = Server();
  EXPECT_THAT(Extensions(server),
              ::testing::ElementsAre("basicConstraints!: CA:FALSE", "keyUsage!: Digital Signature",
                                     "extendedKeyUsage: TLS Web Server Authentication",
                                     "subjectAltName: DNS:coordinator.accel.internal"));
  EXPECT_OK(VerifyNow(server, Purpose::kServer));
  EXPECT_THAT(VerifyNow(server, Purpose::kClient),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("purpose")));
}

TEST_F(IssueTest, AClientHasItsPrincipalAndIsNoServer) {
  const Certificate user = Client(PrincipalKind::kUser);
  EXPECT_THAT(Extensions(user),
              ::testing::ElementsAre("basicConstraints!: CA:FALSE", "keyUsage!: Digital Signature",
                                     "extendedKeyUsage: TLS Web Client Authentication",
                                     "subjectAltName: URI:" + PrincipalUri(principal_)));
  ASSERT_OK_AND_ASSIGN(const Principal principal, user.principal());
  EXPECT_EQ(principal, principal_);
  EXPECT_OK(VerifyNow(user, Purpose::kClient));
  EXPECT_THAT(VerifyNow(user, Purpose::kServer),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("purpose")));
}

TEST_F(IssueTest, LivesAreThoseOfTheKind) {
  EXPECT_EQ(Client(PrincipalKind::kNode).not_after(), kNow + kNodeLife);
  EXPECT_EQ(Client(PrincipalKind::kUser).not_after(), kNow + kUserLife);
  const Certificate server = Server();
  EXPECT_OK(VerifyNow(server, Purpose::kServer, kNow - absl::Minutes(59)));
  EXPECT_THAT(VerifyNow(server, Purpose::kServer, kNow - absl::Minutes(61)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not yet valid")));
  EXPECT_THAT(VerifyNow(server, Purpose::kServer, kNow + kServerLife + absl::Seconds(1)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("expired")));
}

TEST_F(IssueTest, AnotherAuthorityWithTheSameNamesIsRefused) {
  ASSERT_OK_AND_ASSIGN(const Authority other, MakeAuthority("c1", kNow));
  EXPECT_FALSE(Verify(Server(), {other.certificate}, Purpose::kServer, kNow).ok());
  // During a rotation both count.
  EXPECT_OK(
      Verify(Server(), {other.certificate, authority_[0].certificate}, Purpose::kServer, kNow));
}

TEST_F(IssueTest, ALeafSignsNothing) {
  ASSERT_OK_AND_ASSIGN(const PrivateKey key, PrivateKey::Make());
  ASSERT_OK_AND_ASSIGN(const Certificate leaf, IssueServer(authority_[0], key.public_key(), kNow));
  const Authority impostor = {key, leaf};
  ASSERT_OK_AND_ASSIGN(const Certificate forged, IssueServer(impostor, key.public_key(), kNow));
  EXPECT_FALSE(Verify(forged, {authority_[0].certificate}, Purpose::kServer, kNow).ok());
}

TEST_F(IssueTest, CertificatesAndKeysAreReadBack) {
  const Certificate server = Server();
  ASSERT_OK_AND_ASSIGN(const auto both,
                       ReadCertificates(server.ToPem() + authority_[0].certificate.ToPem()));
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].ToDer(), server.ToDer());
  ASSERT_OK_AND_ASSIGN(const PrivateKey key, PrivateKey::FromPem(authority_[0].key.ToPem()));
  EXPECT_EQ(key.public_key().ToDer(), authority_[0].certificate.public_key().ToDer());
  EXPECT_EQ(PinOf(both[1]).size(), 32u);
  EXPECT_NE(PinOf(both[0]), PinOf(both[1]));
}

TEST_F(IssueTest, DamagedTextIsRefused) {
  const std::string pem = Server().ToPem();
  std::string damaged = pem;
  damaged[damaged.size() / 2] = '?';
  for (const std::string& text : {std::string(), std::string("no certificate"), damaged,
                                  pem + damaged, std::string(kMaxCertificatesBytes + 1, 'x')}) {
    EXPECT_THAT(ReadCertificates(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("certificates")));
  }
  EXPECT_THAT(PrivateKey::FromPem("-----BEGIN PRIVATE KEY-----\nAAAA\n").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a P-256")));
}

}  // namespace
}  // namespace accel::security
