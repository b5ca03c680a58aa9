// Uploads over a real socket: what each caller may send, name and read.
#include <map>

#include "absl/strings/escaping.h"
#include "coordinator/any_method_fixture.h"
#include "proto/blobs.grpc.pb.h"
#include "security/sha256.h"
#include "upload/core/bad_trees.h"

namespace accel::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

const std::map<std::string, Caller>& Callers() {
  static const auto* const callers = new std::map<std::string, Caller>{
      {"admin", {CallerKind::kUser, "eve", "01", Role::kAdmin}},
      {"ann", {CallerKind::kUser, "ann", "02", Role::kUser}},
      {"bob", {CallerKind::kUser, "bob", "03", Role::kUser}},
      {"node-1", {CallerKind::kNode, "node-1", "05", Role::kViewer}},
      {"node-2", {CallerKind::kNode, "node-2", "06", Role::kViewer}},
  };
  return *callers;
}

ServerOptions WithNamedCallers() {
  ServerOptions options;
  options.identify = [](const grpc::ServerContextBase& context) -> absl::StatusOr<Caller> {
    const auto found = context.client_metadata().find("authorization");
    return Callers().at(std::string(found->second.data(), found->second.size()));
  };
  return options;
}

std::string HashOf(const std::string& text) {
  return absl::BytesToHexString(security::Sha256(text));
}

class BlobServiceTest : public AnyMethodTest {
 protected:
  BlobServiceTest() : AnyMethodTest(WithNamedCallers()), blob_stub_(v1::Blobs::NewStub(channel_)) {
    AddUsers(Callers());
    for (const std::string& text : {big_, std::string("small"), std::string()}) {
      tree_.push_back({.path = std::string(1, static_cast<char>('a' + tree_.size())),
                       .size = static_cast<int64_t>(text.size()),
                       .sha256 = HashOf(text),
                       .link = ""});
    }
  }

  absl::StatusOr<std::vector<std::string>> Missing(const std::string& who) {
    v1::HasBlobsRequest request;
    request.set_manifest(upload::ToManifest(tree_));
    v1::HasBlobsResponse response;
    const absl::Status status =
        common::FromGrpc(blob_stub_->Has(Call(who).get(), request, &response));
    if (!status.ok()) return status;
    return std::vector<std::string>(response.missing().begin(), response.missing().end());
  }

  absl::Status Put(const std::string& who, const std::vector<std::string>& texts) {
    const auto context = Call(who);
    v1::PutBlobsResponse response;
    const auto stream = blob_stub_->Put(context.get(), &response);
    for (const std::string& text : texts) {
      v1::BlobChunk chunk;
      chunk.set_sha256(HashOf(text));
      chunk.set_size(static_cast<int64_t>(text.size()));
      size_t at = 0;
      do {
        chunk.set_data(text.substr(at, upload::kMaxChunkBytes));
        stream->Write(chunk);
        at += chunk.data().size();
        chunk.clear_sha256();
      } while (at < text.size());
    }
    stream->WritesDone();
    return common::FromGrpc(stream->Finish());
  }

  // Returns the blobs by their hashes.
  absl::StatusOr<std::map<std::string, std::string>> Get(const std::string& who,
                                                         const std::string& job,
                                                         std::vector<std::string> hashes) {
    v1::GetBlobsRequest request;
    request.set_job_id(job);
    for (const std::string& sha256 : hashes) request.add_sha256(sha256);
    const auto context = Call(who);
    const auto stream = blob_stub_->Get(context.get(), request);
    std::map<std::string, std::string> got;
    std::string sha256;
    v1::BlobChunk chunk;
    while (stream->Read(&chunk)) {
      if (!chunk.sha256().empty()) sha256 = chunk.sha256();
      got[sha256] += chunk.data();
    }
    const absl::Status status = common::FromGrpc(stream->Finish());
    if (!status.ok()) return status;
    return got;
  }

  absl::StatusOr<std::string> SubmitAs(const std::string& who, const std::string& tree) {
    v1::SubmitJobRequest request;
    request.set_submit_id(who + tree);
    request.mutable_spec()->add_argv("train");
    request.mutable_spec()->set_nodes(1);
    request.mutable_spec()->set_cpu(true);
    request.mutable_spec()->set_upload(tree);
    v1::SubmitJobResponse response;
    const absl::Status status =
        common::FromGrpc(stub_->SubmitJob(Call(who).get(), request, &response));
    if (!status.ok()) return status;
    return response.job_id();
  }

  // Connects an agent, which gets the job that waits. The stream lasts as long as the result.
  struct Stream {
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::NodeObserved, v1::NodeDesired>> stream;
  };
  Stream AgentOf(const std::string& node) {
    Stream agent = {Call(node), nullptr};
    agent.stream = stub_->Agent(agent.context.get());
    v1::NodeObserved observed = Observed(1);
    observed.set_node_id(node);
    EXPECT_TRUE(agent.stream->Write(observed));
    v1::NodeDesired desired;
    while (desired.generations().empty() && agent.stream->Read(&desired)) continue;
    EXPECT_EQ(desired.generations_size(), 1);
    return agent;
  }

  const std::string big_ = std::string(3 * upload::kMaxChunkBytes + 7, 'x');
  upload::Tree tree_;
  const std::unique_ptr<v1::Blobs::Stub> blob_stub_;
};

TEST_F(BlobServiceTest, AnUploadReachesTheNodesOfItsJobAndNoOther) {
  const std::string tree = HashOf(upload::ToManifest(tree_));
  EXPECT_THAT(SubmitAs("ann", tree),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("submit with --upload again")));
  ASSERT_OK_AND_ASSIGN(const auto missing, Missing("ann"));
  EXPECT_EQ(missing.size(), 3u);
  ASSERT_OK(Put("ann", {big_, "small", ""}));
  EXPECT_THAT(*Missing("ann"), IsEmpty());
  EXPECT_EQ(Missing("bob")->size(), 3u) << "others do not learn that it is there";
  ASSERT_OK_AND_ASSIGN(const std::string job, SubmitAs("ann", tree));
  EXPECT_TRUE(absl::IsNotFound(SubmitAs("bob", tree).status()));

  const std::vector<std::string> all = {tree, HashOf(big_), HashOf("small"), HashOf("")};
  const auto unknown = Get("ann", "nope", {tree});
  const absl::StatusCode kNotFound = absl::StatusCode::kNotFound;
  EXPECT_THAT(unknown, StatusIs(kNotFound, "there is no job nope"));
  EXPECT_THAT(Get("ann", "", {tree}), StatusIs(kNotFound, HasSubstr("no job")));
  for (const char* who : {"bob", "node-1", "node-2"}) {
    EXPECT_THAT(Get(who, job, all), StatusIs(kNotFound, "there is no job " + job)) << who;
  }
  const Stream agent = AgentOf("node-1");
  for (const char* who : {"ann", "admin", "node-1"}) {
    const auto got = Get(who, job, all);
    ASSERT_OK(got) << who;
    EXPECT_EQ(got->at(tree), upload::ToManifest(tree_));
    EXPECT_EQ(got->at(HashOf(big_)), big_);
    EXPECT_EQ(got->at(HashOf("small")), "small");
    EXPECT_EQ(got->at(HashOf("")), "");
  }
  EXPECT_THAT(Get("node-2", job, all), StatusIs(kNotFound, "there is no job " + job));
  EXPECT_THAT(Get("node-1", job, {HashOf("other")}),
              StatusIs(kNotFound, HasSubstr("no such file")));
}

TEST_F(BlobServiceTest, AWrongBlobEndsTheStreamAndTheOthersStay) {
  const auto context = Call("ann");
  v1::PutBlobsResponse response;
  const auto stream = blob_stub_->Put(context.get(), &response);
  v1::BlobChunk chunk;
  chunk.set_sha256(HashOf("small"));
  chunk.set_size(5);
  chunk.set_data("small");
  stream->Write(chunk);
  chunk.set_data("smell");
  stream->Write(chunk);
  stream->WritesDone();
  EXPECT_THAT(common::FromGrpc(stream->Finish()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has the hash")));
  EXPECT_THAT(*Missing("ann"), ElementsAre(HashOf(big_), HashOf("")));
}

TEST_F(BlobServiceTest, ACallerReadsFewUploadsAtATime) {
  constexpr int kUploads = 8;
  const std::string large(8 << 20, 'y');  // More than the network takes in if nobody reads.
  tree_ = {{.path = "a", .size = 8 << 20, .sha256 = HashOf(large), .link = ""}};
  ASSERT_OK(Put("ann", {large}));
  EXPECT_THAT(*Missing("ann"), IsEmpty());
  const std::string tree = HashOf(upload::ToManifest(tree_));
  ASSERT_OK_AND_ASSIGN(const std::string job, SubmitAs("ann", tree));
  v1::GetBlobsRequest request;
  request.set_job_id(job);
  request.add_sha256(HashOf(large));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::BlobChunk>>> streams;
  for (int i = 0; i < kUploads; ++i) {
    contexts.push_back(Call("ann"));
    streams.push_back(blob_stub_->Get(contexts.back().get(), request));
    streams.back()->WaitForInitialMetadata();
  }
  EXPECT_THAT(Get("ann", job, {tree}), StatusIs(absl::StatusCode::kUnavailable,
                                                HasSubstr("ann has 8 calls of Get in progress")));
  EXPECT_OK(Get("admin", job, {tree}));
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& stream : streams) stream->Finish();
}

TEST_F(BlobServiceTest, TidyKeepsWhatAJobNames) {
  ASSERT_OK(Put("ann", {big_, "small", "", "stray"}));
  EXPECT_THAT(*Missing("ann"), IsEmpty());
  ASSERT_OK(SubmitAs("ann", HashOf(upload::ToManifest(tree_))));
  blob_service_.Tidy(absl::Now() + absl::Hours(24 * 8));
  EXPECT_THAT(*Missing("ann"), IsEmpty());
  EXPECT_FALSE(blobs_->OpenBlob("ann", HashOf("stray")).ok());
}

}  // namespace
}  // namespace accel::coordinator
