#include "agent/code/grpc_blob_source.h"

#include <grpcpp/client_context.h>

#include <utility>

#include "common/grpc_status.h"
#include "proto/blobs.grpc.pb.h"

namespace accel::agent {
namespace {

class GrpcBlobReader final : public BlobReader {
 public:
  GrpcBlobReader(const std::shared_ptr<grpc::Channel>& channel, const v1::GetBlobsRequest& request)
      : stub_(v1::Blobs::NewStub(channel)), reader_(stub_->Get(&context_, request)) {}
  ~GrpcBlobReader() override { context_.TryCancel(); }

  bool Read(v1::BlobChunk* chunk) override { return reader_->Read(chunk); }
  absl::Status Finish() override { return common::FromGrpc(reader_->Finish()); }
  void Cancel() override { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  const std::unique_ptr<v1::Blobs::Stub> stub_;
  const std::unique_ptr<grpc::ClientReader<v1::BlobChunk>> reader_;
};

}  // namespace

GrpcBlobSource::GrpcBlobSource(std::shared_ptr<SessionChannels> channels)
    : channels_(std::move(channels)) {}

std::unique_ptr<BlobReader> GrpcBlobSource::Get(const common::JobId& job,
                                                const std::vector<std::string>& hashes) {
  v1::GetBlobsRequest request;
  request.set_job_id(job.value());
  request.mutable_sha256()->Assign(hashes.begin(), hashes.end());
  return std::make_unique<GrpcBlobReader>(channels_->present(), request);
}

}  // namespace accel::agent
