#include "coordinator/blobs/blob_service.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/grpc_status.h"
#include "coordinator/blobs/blob_streams.h"
#include "coordinator/streams.h"
#include "coordinator/wire.h"
#include "security/sha256.h"
#include "upload/core/tree.h"

namespace accel::coordinator {
namespace {

constexpr WireBounds kManifestBounds{upload::kMaxManifestBytes + 64, 8};
// A hash for each entry of a tree, and one for its manifest.
constexpr WireBounds kGetBounds{2 << 20, upload::kMaxEntries + 16};
constexpr int kMaxManifests = 16;

}  // namespace

absl::Status BlobService::CheckUpload(const std::string& user, const std::string& tree) {
  if (store_.HasTree(user, tree)) return absl::OkStatus();
  return absl::NotFoundError(
      "upload: the coordinator does not have these files of yours; submit with --upload again");
}

void BlobService::Tidy(absl::Time now) {
  absl::Notification answered;
  absl::StatusOr<std::vector<JobPtr>> jobs;
  slot_.coordinator().ListJobs(Owner(), common::JobId(""), [&](auto all) {
    jobs = std::move(all);
    answered.Notify();
  });
  answered.WaitForNotification();
  if (!jobs.ok()) return;  // The coordinator is shutting down.
  std::set<std::pair<std::string, std::string>> needed;
  for (const JobPtr& job : *jobs) {
    if (!job->spec().upload().empty()) needed.insert({job->spec().owner(), job->spec().upload()});
  }
  store_.Tidy(needed, now);
}

grpc::ServerUnaryReactor* BlobService::Has(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* bytes,
                                           grpc::ByteBuffer* answer) {
  grpc::ServerUnaryReactor* const call = context->DefaultReactor();
  absl::StatusOr<Admission> admission = slot_.entrance().Admit(*context, Method::kHasBlobs);
  auto request = std::make_shared<v1::HasBlobsRequest>();
  absl::Status status = admission.status();
  if (status.ok()) status = Parse(*bytes, kManifestBounds, request.get());
  if (!status.ok()) {
    call->Finish(common::ToGrpc(status));
    return call;
  }
  if (manifests_.fetch_add(1) >= kMaxManifests) {
    --manifests_;
    call->Finish(common::ToGrpc(
        absl::UnavailableError("the coordinator compares many other uploads; try again later")));
    return call;
  }
  queue_.Post([this, call, request, answer, peer = context->peer(), admitted = *admission] {
    const auto missing = store_.Missing(admitted.caller.name, request->manifest(), absl::Now());
    --manifests_;
    // Notes the upload only once it is complete. While blobs are missing, another call will follow.
    if (!missing.ok() || missing->empty()) {
      const std::string tree = absl::BytesToHexString(security::Sha256(request->manifest()));
      slot_.entrance().Note(admitted.caller, peer, "upload", tree, missing.status());
    }
    v1::HasBlobsResponse response;
    if (missing.ok()) response.mutable_missing()->Assign(missing->begin(), missing->end());
    *answer = ToBytes(response);
    call->Finish(common::ToGrpc(missing.status()));
  });
  return call;
}

grpc::ServerReadReactor<grpc::ByteBuffer>* BlobService::Put(grpc::CallbackServerContext* context,
                                                            grpc::ByteBuffer* answer) {
  absl::StatusOr<Admission> admission = slot_.entrance().Admit(*context, Method::kPutBlobs);
  if (!admission.ok()) {
    return NewRefusal<grpc::ServerReadReactor<grpc::ByteBuffer>>(
        common::ToGrpc(admission.status()));
  }
  *answer = ToBytes(v1::PutBlobsResponse());
  return NewPutStream(&store_, &queue_, *std::move(admission));
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* BlobService::Get(grpc::CallbackServerContext* context,
                                                             const grpc::ByteBuffer* bytes) {
  absl::StatusOr<Admission> admission = slot_.entrance().Admit(*context, Method::kGetBlobs);
  v1::GetBlobsRequest request;
  absl::Status status = admission.status();
  std::unique_ptr<GetSlots::Slot> slot;
  if (status.ok()) {
    auto taken = get_slots_.Take(admission->caller);
    status = taken.status();
    if (status.ok()) slot = *std::move(taken);
  }
  if (status.ok()) status = Parse(*bytes, kGetBounds, &request);
  if (!status.ok()) {
    return NewRefusal<grpc::ServerWriteReactor<grpc::ByteBuffer>>(common::ToGrpc(status));
  }
  return NewGetStream(&store_, &queue_, &slot_.coordinator(), *std::move(admission),
                      std::move(request), std::move(slot));
}

}  // namespace accel::coordinator
