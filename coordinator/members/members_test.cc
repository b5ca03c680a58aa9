// The coordinator's side of access, from a key that an administrator asks for to a certificate that
// is refused, over a real loop and a store in memory.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/status_matchers.h"
#include "coordinator/coordinator_loop.h"
#include "coordinator/core/access/access_rows.h"
#include "coordinator/members/access_desk.h"
#include "coordinator/members/admissions.h"
#include "coordinator/members/cluster_access.h"
#include "coordinator/members/cluster_authority.h"
#include "coordinator/members/present_authority.h"
#include "coordinator/members/stored_credentials.h"
#include "coordinator/store/memory_store.h"
#include "security/client_identity.h"
#include "security/enrolment/join_string.h"
#include "security/rotation.h"
#include "security/signing_request.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PresentAuthority MakeCluster() {
  auto made = ClusterAuthority::Make("c1", absl::Now());
  EXPECT_OK(made);
  return PresentAuthority(*std::move(made));
}

class MembersTest : public ::testing::Test {
 protected:
  MembersTest() {
    Begin();
    table_.SetCallbacks(
        {.on_seen = [this](const std::string& serial) { seen_.push_back(serial); },
         .on_refused = [this](const std::string& serial) { refused_.push_back(serial); }});
  }

  // Starts a coordinator with what is stored.
  void Begin() {
    loop_.reset();
    CoordinatorLoop::Options options;
    options.store = &store_;
    options.on_access = [this](const AccessState& state, const AccessChanges& changes) {
      table_.Apply(state, changes);
    };
    loop_ = std::make_unique<CoordinatorLoop>(std::move(options));
    ASSERT_OK(loop_->Load());
    loop_->Start();
    slot_ = std::make_unique<CoordinatorSlot>();
    slot_->Set(loop_.get(), &entrance_, "10.0.0.1:7337");
    desk_ = std::make_unique<AccessDesk>(slot_.get(), &authority_);
    admissions_ = std::make_unique<Admissions>(slot_.get(), &authority_);
  }

  // Waits for the answer of a call of the desk.
  template <typename Response, typename Invoke>
  absl::StatusOr<Response> Await(Invoke invoke) {
    struct Answer {
      absl::StatusOr<Response> value = absl::UnknownError("no answer");
      absl::Notification done;
    };
    const auto answer = std::make_shared<Answer>();
    invoke([answer](absl::StatusOr<Response> value) {
      answer->value = std::move(value);
      answer->done.Notify();
    });
    EXPECT_TRUE(answer->done.WaitForNotificationWithTimeout(absl::Seconds(30)));
    return answer->value;
  }

  absl::StatusOr<security::JoinString> AddNode() {
    v1::AddTokenRequest request;
    request.set_kind(v1::NODE_MEMBER);
    request.set_ttl_s(900);
    request.set_uses(1);
    auto response =
        Await<v1::AddTokenResponse>([&](auto done) { desk_->AddToken(request, std::move(done)); });
    if (!response.ok()) return response.status();
    return security::ParseJoinString(response->key());
  }

  security::EnrolmentAnswer Join(const security::JoinString& key) {
    security::EnrolmentRequest request;
    request.token_id = key.token_id;
    request.secret = key.secret;
    request.csr = *security::MakeRequest(node_key_);
    request.id = "4af1";
    request.name = "n7";
    return admissions_->Decide(request, "ipv4:10.0.0.9:4711", absl::Seconds(30));
  }

  // Returns who calls with this certificate.
  absl::StatusOr<Caller> Find(const std::string& pem) { return table_.Find(SerialOf(pem), pem); }

  static std::string SerialOf(const std::string& pem) {
    return security::Certificate::FromPem(pem)->principal()->serial;
  }

  PresentAuthority authority_ = MakeCluster();
  Entrance entrance_{Entrance::Options()};
  const security::PrivateKey node_key_ = *security::PrivateKey::Make();
  MemoryStore store_;
  StoredCredentials table_;
  std::vector<std::string> seen_;
  std::vector<std::string> refused_;
  std::unique_ptr<CoordinatorLoop> loop_;
  std::unique_ptr<CoordinatorSlot> slot_;
  std::unique_ptr<AccessDesk> desk_;
  std::unique_ptr<Admissions> admissions_;
};

TEST_F(MembersTest, AKeyMakesANodeThatIsKnownAndSurvivesTheCoordinator) {
  ASSERT_OK_AND_ASSIGN(const security::JoinString key, AddNode());
  EXPECT_EQ(key.address, "10.0.0.1:7337");
  EXPECT_EQ(key.pin, authority_.get()->pin());
  const security::EnrolmentAnswer answer = Join(key);
  ASSERT_OK(answer.refusal);
  EXPECT_EQ(answer.cluster, "c1");
  EXPECT_OK(security::CheckIdentity({node_key_.ToPem(), answer.certificate, answer.authorities}, "",
                                    absl::Now()));
  ASSERT_OK_AND_ASSIGN(const Caller caller, Find(answer.certificate));
  EXPECT_EQ(caller.kind, CallerKind::kNode);
  EXPECT_EQ(caller.name, "4af1");
  Begin();
  EXPECT_OK(Find(answer.certificate));
  // The answer was lost: the same one comes, although the key is used up.
  EXPECT_EQ(Join(key).certificate, answer.certificate);
}

TEST_F(MembersTest, ARevokedNodeIsRefusedWhenTheAnswerComes) {
  const auto key = AddNode();
  const std::string certificate = Join(*key).certificate;
  v1::RevokeRequest request;
  request.set_kind(v1::NODE_MEMBER);
  request.set_member("n7");
  ASSERT_OK_AND_ASSIGN(const v1::RevokeResponse revoked, Await<v1::RevokeResponse>([&](auto done) {
                         desk_->Revoke(request, std::move(done));
                       }));
  EXPECT_EQ(revoked.revoked(), 1);
  EXPECT_THAT(Find(certificate).status(),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("was revoked")));
  EXPECT_THAT(refused_, ElementsAre(SerialOf(certificate)));
}

TEST_F(MembersTest, ARenewedCertificateReplacesTheOldOneOnceItIsUsed) {
  const auto key = AddNode();
  const std::string certificate = Join(*key).certificate;
  const std::string old = SerialOf(certificate);
  ASSERT_OK_AND_ASSIGN(const security::PrivateKey next, security::PrivateKey::Make());
  v1::RenewRequest request;
  request.set_csr(*security::MakeRequest(next));
  ASSERT_OK_AND_ASSIGN(const v1::RenewResponse renewed, Await<v1::RenewResponse>([&](auto done) {
                         desk_->Renew(old, request, std::move(done));
                       }));
  EXPECT_OK(security::CheckIdentity({next.ToPem(), renewed.certificate(), renewed.authorities()},
                                    "", absl::Now()));
  EXPECT_OK(Find(certificate));
  const std::string fresh = SerialOf(renewed.certificate());
  ASSERT_OK(Find(renewed.certificate()));
  EXPECT_THAT(seen_, ElementsAre(old, fresh));
  desk_->NoteSeen(fresh);
  // A later turn sees the effect of an earlier one.
  ASSERT_OK(
      Await<v1::ListMembersResponse>([&](auto done) { desk_->ListMembers({}, std::move(done)); }));
  EXPECT_THAT(Find(certificate).status(),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("replaced")));
  EXPECT_OK(Find(renewed.certificate()));
}

TEST_F(MembersTest, ListsHaveNoSecrets) {
  const auto key = AddNode();
  Join(*key);
  ASSERT_OK_AND_ASSIGN(
      const v1::ListMembersResponse list,
      Await<v1::ListMembersResponse>([&](auto done) { desk_->ListMembers({}, std::move(done)); }));
  ASSERT_EQ(list.members_size(), 1);
  EXPECT_EQ(list.members(0).name(), "n7");
  ASSERT_EQ(list.credentials_size(), 1);
  EXPECT_EQ(list.credentials(0).certificate(), "");
  ASSERT_EQ(list.tokens_size(), 1);
  EXPECT_EQ(list.tokens(0).secret_hash(), "");
}

TEST_F(MembersTest, TheStoreHasNoSecret) {
  const auto key = AddNode();
  ASSERT_OK(key);
  loop_.reset();
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, store_.Load());
  bool found = false;
  for (const Row& row : rows) {
    found |= row.key == "token/" + key->token_id;
    EXPECT_EQ(row.value.find(key->secret), std::string::npos) << row.key;
  }
  EXPECT_TRUE(found);
}

// Whoever has the CA's key can sign every name and serial for a key of his own.
TEST_F(MembersTest, AForgedCertificateIsRefusedAlthoughItsNamesAreKnown) {
  const std::string honest = Join(*AddNode()).certificate;
  EXPECT_OK(Find(honest));
  ASSERT_OK_AND_ASSIGN(const security::PrivateKey own, security::PrivateKey::Make());
  const std::shared_ptr<const ClusterAuthority> authority = authority_.get();
  ASSERT_OK_AND_ASSIGN(
      const v1::Credential forged,
      authority->Issue(v1::NODE_MEMBER, "4af1", "n7", own.public_key(), absl::Now()));
  EXPECT_THAT(table_.Find(SerialOf(honest), forged.certificate()).status(),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not the one")));
  EXPECT_OK(Find(honest));
}

// A call may arrive between the start of the server and Attach().
TEST_F(MembersTest, AFirstUseBeforeAttachIsRecorded) {
  const std::string certificate = Join(*AddNode()).certificate;
  ASSERT_OK_AND_ASSIGN(ClusterAuthority other, ClusterAuthority::Make("c1", absl::Now()));
  ASSERT_OK_AND_ASSIGN(const auto access, ClusterAccess::Make(std::move(other), absl::Now()));
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, store_.Load());
  AccessState stored;
  for (const Row& row : rows) ASSERT_OK(TakeAccessRow(row, &stored));
  access->credentials()->Apply(stored, EverythingOf(stored));
  ASSERT_OK(access->credentials()->Find(SerialOf(certificate), certificate));
  access->Attach(loop_.get(), &entrance_, "", [](const std::string&) {});
  ASSERT_OK_AND_ASSIGN(
      const v1::ListMembersResponse list,
      Await<v1::ListMembersResponse>([&](auto done) { desk_->ListMembers({}, std::move(done)); }));
  ASSERT_EQ(list.credentials_size(), 1);
  EXPECT_GT(list.credentials(0).seen_unix_ms(), 0);
}

TEST_F(MembersTest, UnknownCertificatesAreNamed) {
  EXPECT_THAT(table_.Find("ffff", "").status(),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("does not know")));
}

TEST_F(MembersTest, WithoutATcpAddressThereIsNoKey) {
  CoordinatorSlot slot;
  slot.Set(loop_.get(), &entrance_, "");
  AccessDesk local(&slot, &authority_);
  EXPECT_THAT(
      Await<v1::AddTokenResponse>([&](auto done) { local.AddToken({}, std::move(done)); }).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--listen HOST:PORT")));
}

TEST_F(MembersTest, DuringARotationNewCertificatesAndKeysAreOfTheNewAuthority) {
  const auto former = authority_.get();
  const auto before = AddNode();
  const security::EnrolmentAnswer joined = Join(*before);
  ASSERT_OK_AND_ASSIGN(security::Authority next, security::MakeAuthority("c1", absl::Now()));
  authority_.Set(ClusterAuthority("c1", next, former->present()));
  ASSERT_OK_AND_ASSIGN(const security::JoinString after, AddNode());
  EXPECT_EQ(after.pin, security::PinOf(next.certificate));
  v1::RenewRequest request;
  ASSERT_OK_AND_ASSIGN(const security::PrivateKey key, security::PrivateKey::Make());
  request.set_csr(*security::MakeRequest(key));
  ASSERT_OK_AND_ASSIGN(const v1::RenewResponse renewed, Await<v1::RenewResponse>([&](auto done) {
                         desk_->Renew(SerialOf(joined.certificate), request, std::move(done));
                       }));
  EXPECT_TRUE(security::IsOfFirst(renewed.certificate(), next.certificate.ToPem()));
  EXPECT_EQ(renewed.authorities(),
            next.certificate.ToPem() + former->present().certificate.ToPem());
  // A client that has not renewed yet trusts the coordinator, and so does one that has.
  ASSERT_OK_AND_ASSIGN(const security::ServerTls tls, authority_.get()->MakeServer(absl::Now()));
  const auto leaf = security::Certificate::FromPem(tls.certificate);
  for (const std::string& trusted : {joined.authorities, renewed.authorities()}) {
    ASSERT_OK_AND_ASSIGN(const auto authorities, security::ReadCertificates(trusted));
    EXPECT_OK(security::Verify(*leaf, authorities, security::Purpose::kServer, absl::Now()));
  }
  EXPECT_EQ(tls.client_authorities, renewed.authorities());
  // Newcomers know the pin of the new authority.
  ASSERT_OK_AND_ASSIGN(const security::ServerTls shown,
                       authority_.get()->MakeEnrolmentServer(absl::Now()));
  ASSERT_OK_AND_ASSIGN(const auto chain, security::ReadCertificates(shown.certificate));
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(security::PinOf(chain[1]), after.pin);
}

TEST(AccessDeskTest, NewcomersGetAnAddressThatTheyCanDial) {
  EXPECT_EQ(AddressForNewcomers("10.0.0.1:7337"), "10.0.0.1:7337");
  EXPECT_THAT(AddressForNewcomers("0.0.0.0:7337"), ::testing::Not(HasSubstr("0.0.0.0")));
  EXPECT_THAT(AddressForNewcomers("[::]:7337"), ::testing::EndsWith(":7337"));
  EXPECT_EQ(AddressForNewcomers(""), "");
}

}  // namespace
}  // namespace accel::coordinator
