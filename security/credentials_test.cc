// Handshakes between gRPC clients and servers with certificates of all kinds.
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_matchers.h"
#include "security/client_credentials.h"
#include "security/issue.h"
#include "security/openssl_init.h"
#include "security/server_credentials.h"

namespace accel::security {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

Authority MakeCluster(const std::string& name) {
  auto authority = MakeAuthority(name, absl::Now());
  EXPECT_OK(authority);
  return *authority;
}

ServerTls ServerOf(const Authority& authority, absl::Time now = absl::Now()) {
  const auto key = PrivateKey::Make();
  const auto leaf = IssueServer(authority, key->public_key(), now);
  EXPECT_OK(leaf);
  const std::string root = authority.certificate.ToPem();
  return {key->ToPem(), leaf->ToPem() + root, root};
}

ClientIdentity ClientOf(const Authority& authority, absl::Time now = absl::Now()) {
  const auto key = PrivateKey::Make();
  const auto leaf = IssueClient(authority, key->public_key(),
                                {"c1", PrincipalKind::kNode, "n1", *MakeSerial()}, now);
  EXPECT_OK(leaf);
  return {key->ToPem(), leaf->ToPem(), authority.certificate.ToPem()};
}

// Sends back what it receives.
class Echo final : public grpc::ServerGenericBidiReactor {
 public:
  Echo() { StartRead(&bytes_); }
  void OnReadDone(bool ok) override {
    if (ok) {
      StartWrite(&bytes_);
    } else {
      Finish(grpc::Status::OK);
    }
  }
  void OnWriteDone(bool ok) override { StartRead(&bytes_); }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer bytes_;
};

class EchoService final : public grpc::CallbackGenericService {
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Echo;
  }
};

// One stream, of which the test makes each step.
class Stream {
 public:
  explicit Stream(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    stream_ = stub_.PrepareCall(&context_, "/test/Echo", &queue_);
    stream_->StartCall(this);
    EXPECT_TRUE(Await());
  }
  ~Stream() {
    context_.TryCancel();
    grpc::Status status;
    stream_->Finish(&status, this);
    Await();
    queue_.Shutdown();
  }

  bool SendsAndReceives() {
    grpc::Slice word("word");
    grpc::ByteBuffer bytes(&word, 1);
    stream_->Write(bytes, this);
    if (!Await()) return false;
    stream_->Read(&bytes, this);
    return Await() && bytes.Length() == 4;
  }

 private:
  bool Await() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

class CredentialsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { InitOpenSsl(); }

  CredentialsTest() {
    auto source = ServerCertificateSource::Make(ServerOf(cluster_), absl::Now());
    EXPECT_OK(source);
    source_ = *std::move(source);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", source_->MakeCredentials(), &port_);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    EXPECT_NE(server_, nullptr);
  }
  ~CredentialsTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::shared_ptr<grpc::Channel> Open(const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                      bool by_name = true) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    if (by_name) ExpectServerName(&arguments);
    return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port_), credentials, arguments);
  }
  std::shared_ptr<grpc::Channel> Open(const ClientIdentity& identity) {
    return Open(MakeClientCredentials(identity));
  }

  // Returns whether the handshake succeeds. A client is ready once it has read the server's first
  // frame, which a server sends after it has accepted the client's certificate.
  static bool Connects(const std::shared_ptr<grpc::Channel>& channel) {
    grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
    while (state != GRPC_CHANNEL_READY && state != GRPC_CHANNEL_TRANSIENT_FAILURE) {
      if (!channel->WaitForStateChange(
              state, std::chrono::system_clock::now() + std::chrono::seconds(30))) {
        return false;
      }
      state = channel->GetState(true);
    }
    return state == GRPC_CHANNEL_READY;
  }

  const Authority cluster_ = MakeCluster("c1");
  std::unique_ptr<ServerCertificateSource> source_;
  EchoService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(CredentialsTest, AClientOfTheClusterConnects) {
  EXPECT_TRUE(Connects(Open(ClientOf(cluster_))));
}

TEST_F(CredentialsTest, AClientWithoutACertificateIsRefused) {
  EXPECT_FALSE(
      Connects(Open(grpc::SslCredentials({.pem_root_certs = cluster_.certificate.ToPem()}))));
}

TEST_F(CredentialsTest, AClientOfASelfMadeAuthorityIsRefused) {
  ClientIdentity client = ClientOf(MakeCluster("c1"));
  client.authorities = cluster_.certificate.ToPem();
  EXPECT_FALSE(Connects(Open(client)));
}

TEST_F(CredentialsTest, AnExpiredClientIsRefused) {
  EXPECT_FALSE(Connects(Open(ClientOf(cluster_, absl::Now() - kNodeLife - absl::Hours(1)))));
}

TEST_F(CredentialsTest, AClientThatIsNotYetValidIsRefused) {
  EXPECT_FALSE(Connects(Open(ClientOf(cluster_, absl::Now() + absl::Hours(3)))));
}

TEST_F(CredentialsTest, ACoordinatorsCertificateIsNoClients) {
  const ServerTls server = ServerOf(cluster_);
  EXPECT_FALSE(Connects(Open({server.key, server.certificate, cluster_.certificate.ToPem()})));
}

TEST_F(CredentialsTest, AClientRefusesAnotherName) {
  // Without the override, the client expects the address that it dials.
  EXPECT_FALSE(Connects(Open(MakeClientCredentials(ClientOf(cluster_)), /*by_name=*/false)));
}

TEST_F(CredentialsTest, AClientRefusesAnotherCluster) {
  ClientIdentity client = ClientOf(cluster_);
  client.authorities = MakeCluster("c1").certificate.ToPem();
  EXPECT_FALSE(Connects(Open(client)));
}

TEST_F(CredentialsTest, ANodesCertificateIsNoServers) {
  const ClientIdentity node = ClientOf(cluster_);
  EXPECT_THAT(source_->Replace({node.key, node.certificate, node.authorities}, absl::Now()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("purpose")));
  grpc::ServerBuilder builder;
  int port = 0;
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs = {{node.key, node.certificate}};
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
  EchoService service;
  builder.RegisterCallbackGenericService(&service);
  const auto impostor = builder.BuildAndStart();
  std::swap(port, port_);
  EXPECT_FALSE(Connects(Open(ClientOf(cluster_))));
  std::swap(port, port_);
  impostor->Shutdown(std::chrono::system_clock::now());
}

TEST_F(CredentialsTest, ANewCertificateKeepsStreams) {
  Stream stream(Open(ClientOf(cluster_)));
  EXPECT_TRUE(stream.SendsAndReceives());
  // The next certificate and clients are of another authority, which the old client does not have.
  const Authority next = MakeCluster("c1");
  EXPECT_OK(source_->Replace(ServerOf(next), absl::Now()));
  EXPECT_TRUE(stream.SendsAndReceives());
  EXPECT_TRUE(Connects(Open(ClientOf(next))));
  EXPECT_FALSE(Connects(Open(ClientOf(cluster_))));
}

TEST_F(CredentialsTest, GarbageAndAnothersKeyKeepTheOldCertificate) {
  ServerTls garbage = ServerOf(cluster_);
  garbage.certificate = "garbage";
  EXPECT_THAT(source_->Replace(garbage, absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("certificates")));
  ServerTls mixed = ServerOf(cluster_);
  mixed.key = ServerOf(cluster_).key;
  EXPECT_THAT(source_->Replace(mixed, absl::Now()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("another key")));
  EXPECT_TRUE(Connects(Open(ClientOf(cluster_))));
}

}  // namespace
}  // namespace accel::security
