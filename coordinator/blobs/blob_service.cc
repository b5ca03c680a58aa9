#include "coordinator/blobs/blob_service.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "coordinator/admit_request.h"
#include "coordinator/blobs/blob_streams.h"
#include "coordinator/wire.h"
#include "proto/blobs.grpc.pb.h"
#include "security/sha256.h"
#include "upload/core/tree.h"

namespace accel::coordinator {
namespace {

constexpr WireBounds kManifestBounds{upload::kMaxManifestBytes + 64, 8};
// A hash for each entry of a tree, and one for its manifest.
constexpr WireBounds kGetBounds{2 << 20, upload::kMaxEntries + 16};
constexpr int kMaxManifests = 16;

}  // namespace

void BlobService::CheckUpload(const std::string& user, const std::string& tree,
                              std::function<void(absl::Status)> done) {
  queue_.Post([this, user, tree, done = std::move(done)] {
    if (store_.HasTree(user, tree)) return done(absl::OkStatus());
    done(absl::NotFoundError(
        "upload: the coordinator does not have these files of yours; submit with --upload again"));
  });
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

void BlobService::AddTo(Handlers* handlers) {
  HandlerAdder(this, v1::Blobs::service_full_name(), handlers)
      .Add("Has", &BlobService::Has)
      .Add("Put", &BlobService::Put)
      .Add("Get", &BlobService::Get);
}

void BlobService::Has(ServerCall* call) {
  auto compare = [this, call](const Admission& admission, v1::HasBlobsRequest request) {
    if (manifests_.fetch_add(1) >= kMaxManifests) {
      --manifests_;
      return call->Finish(
          absl::UnavailableError("the coordinator compares many other uploads; try again later"));
    }
    queue_.Post([this, call, request = std::make_shared<v1::HasBlobsRequest>(std::move(request)),
                 peer = call->peer(), admission] {
      const auto missing = store_.Missing(admission.caller.name, request->manifest(), absl::Now());
      --manifests_;
      // Notes the upload only once it is complete. While blobs are missing, another call will
      // follow.
      if (!missing.ok() || missing->empty()) {
        const std::string tree = absl::BytesToHexString(security::Sha256(request->manifest()));
        slot_.entrance().Note(admission.caller, peer, "upload", tree, missing.status());
      }
      if (!missing.ok()) return call->Finish(missing.status());
      v1::HasBlobsResponse response;
      response.mutable_missing()->Assign(missing->begin(), missing->end());
      call->FinishWith(ToBytes(response));
    });
  };
  AdmitRequest<v1::HasBlobsRequest>(call, &slot_.entrance(), Method::kHasBlobs, kManifestBounds,
                                    compare);
}

void BlobService::Put(ServerCall* call) {
  absl::StatusOr<Admission> admission = slot_.entrance().Admit(call->context(), Method::kPutBlobs);
  if (!admission.ok()) return call->Finish(admission.status());
  ServePut(call, &store_, &queue_, *std::move(admission));
}

void BlobService::Get(ServerCall* call) {
  auto send = [this, call](Admission admission, v1::GetBlobsRequest request) {
    absl::StatusOr<std::unique_ptr<GetSlots::Slot>> slot = get_slots_.Take(admission.caller);
    if (!slot.ok()) return call->Finish(slot.status());
    ServeGet(call, &store_, &queue_, &slot_.coordinator(), std::move(admission), std::move(request),
             *std::move(slot));
  };
  AdmitRequest<v1::GetBlobsRequest>(call, &slot_.entrance(), Method::kGetBlobs, kGetBounds, send);
}

}  // namespace accel::coordinator
