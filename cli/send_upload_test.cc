#include "cli/send_upload.h"

#include <grpcpp/grpcpp.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "common/status_matchers.h"
#include "proto/blobs.grpc.pb.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

// Lacks all files until a stream of them has ended well.
class FakeBlobs final : public v1::Blobs::Service {
 public:
  grpc::Status Has(grpc::ServerContext*, const v1::HasBlobsRequest* request,
                   v1::HasBlobsResponse* response) override {
    const auto tree = upload::ParseManifest(request->manifest());
    if (!tree.ok()) return {grpc::StatusCode::INVALID_ARGUMENT, ""};
    if (has_all_) return grpc::Status::OK;
    for (const upload::TreeEntry& entry : *tree) response->add_missing(entry.sha256);
    return grpc::Status::OK;
  }
  grpc::Status Put(grpc::ServerContext*, grpc::ServerReader<v1::BlobChunk>* reader,
                   v1::PutBlobsResponse*) override {
    for (v1::BlobChunk chunk; reader->Read(&chunk);) received_ += chunk.data();
    ++streams_;
    const grpc::Status end = end_();
    has_all_ = end.ok() && keeps_;
    return end;
  }

  std::string received_;
  int streams_ = 0;
  bool keeps_ = true;
  std::function<grpc::Status()> end_ = [] { return grpc::Status::OK; };

 private:
  bool has_all_ = false;
};

class SendUploadTest : public ::testing::Test {
 protected:
  SendUploadTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    std::filesystem::create_directory(folder_ + "/project");
    Write("a", "alpha");
    Write("b", "beta");
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::experimental::LocalServerCredentials(UDS));
    builder.RegisterService(&blobs_);
    server_ = builder.BuildAndStart();
  }
  ~SendUploadTest() override {
    server_->Shutdown();
    std::filesystem::remove_all(folder_);
  }

  std::string address() const { return "unix:" + folder_ + "/coordinator"; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/project/" + name) << text;
  }

  absl::StatusOr<std::string> Send() {
    auto local = upload::ListTree(folder_ + "/project");
    EXPECT_OK(local);
    EXPECT_OK(upload::HashTree(&*local));
    auto client = CoordinatorClient::Connect(address());
    EXPECT_OK(client);
    return SendUpload(**client, *local, console_);
  }

  std::string folder_ = "/tmp/send_upload.XXXXXX";
  FakeBlobs blobs_;
  std::unique_ptr<grpc::Server> server_;
  std::ostringstream out_, err_;
  const Console console_{out_, err_};
};

TEST_F(SendUploadTest, SendsWhatIsMissing) {
  ASSERT_OK_AND_ASSIGN(const std::string name, Send());
  EXPECT_EQ(name.size(), 64u);
  EXPECT_EQ(blobs_.received_, "alphabeta");
  EXPECT_THAT(err_.str(), HasSubstr("uploaded 2 of 2 files"));
}

TEST_F(SendUploadTest, NamesTheFileThatHasChanged) {
  blobs_.end_ = [this] {
    Write("b", "BETA");
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "it has the hash 123");
  };
  EXPECT_THAT(Send(), StatusIs(absl::StatusCode::kAborted,
                               HasSubstr("b changed while it was uploaded; submit again")));
}

TEST_F(SendUploadTest, SendsTwiceToACoordinatorThatKeepsNothing) {
  blobs_.keeps_ = false;
  EXPECT_THAT(Send(), StatusIs(absl::StatusCode::kInternal, HasSubstr("does not keep the files")));
  EXPECT_EQ(blobs_.streams_, 2);
}

TEST_F(SendUploadTest, ReturnsWhyFilesThatHaveNotChangedAreRefused) {
  blobs_.end_ = [] { return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no reason"); };
  EXPECT_THAT(Send(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no reason")));
}

}  // namespace
}  // namespace accel::cli
