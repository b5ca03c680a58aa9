#include "coordinator/blobs/blob_streams.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/blobs/upload_access.h"
#include "coordinator/core/job_owner.h"
#include "coordinator/wire.h"
#include "upload/core/tree.h"

namespace accel::coordinator {
namespace {

constexpr WireBounds kChunkBounds{upload::kMaxChunkBytes + 4096, 16};

class PutStream final : public CallReactor {
 public:
  PutStream(ServerCall* call, BlobStore* store, WorkQueue* queue, Admission admission)
      : call_(*call), admission_(std::move(admission)), store_(*store), queue_(*queue) {
    call_.StartRead(&bytes_);
  }

  void OnReadDone(bool ok) override {
    queue_.Post([this, ok] { Step(ok); });
  }

 private:
  void Step(bool ok) {
    const absl::Status status = ok ? Take() : (upload_ ? upload_->End() : absl::OkStatus());
    if (ok && status.ok()) return call_.StartRead(&bytes_);
    upload_.reset();  // Here, because it may wait for the disk.
    if (!status.ok()) return call_.Finish(status);
    call_.FinishWith(ToBytes(v1::PutBlobsResponse()));
  }

  absl::Status Take() {
    if (upload_ == nullptr) {
      ACCEL_ASSIGN_OR_RETURN(upload_, store_.BeginUpload(admission_.caller.name));
    }
    v1::BlobChunk chunk;
    ACCEL_RETURN_IF_ERROR(Parse(bytes_, kChunkBounds, &chunk));
    bytes_.Clear();
    return upload_->Take(chunk.sha256(), chunk.size(), chunk.data());
  }

  ServerCall& call_;
  const Admission admission_;
  BlobStore& store_;
  WorkQueue& queue_;
  std::unique_ptr<BlobUpload> upload_;
  grpc::ByteBuffer bytes_;
};

class GetStream final : public CallReactor {
 public:
  GetStream(ServerCall* call, BlobStore* store, WorkQueue* queue, Admission admission,
            v1::GetBlobsRequest request, std::unique_ptr<GetSlots::Slot> slot)
      : call_(*call),
        admission_(std::move(admission)),
        slot_(std::move(slot)),
        store_(*store),
        queue_(*queue),
        request_(std::move(request)) {}

  // Called once. Asks for the job.
  void Begin(Coordinator* coordinator) {
    const common::JobId id(request_.job_id());
    // An empty id would list all jobs.
    if (id.empty()) return call_.Finish(NoSuchJob(id));
    coordinator->ListJobs(Owner(), id, [this](absl::StatusOr<std::vector<JobPtr>> jobs) {
      if (!jobs.ok()) return call_.Finish(jobs.status());
      queue_.Post([this, job = std::move(jobs->front())] {
        const absl::Status opened = Open(*job);
        if (!opened.ok()) return call_.Finish(opened);
        Next();
      });
    });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return call_.Finish(absl::CancelledError("the reader has gone"));
    queue_.Post([this] { Next(); });
  }

 private:
  absl::Status Open(const v1::Job& job) {
    if (!MayReadUpload(admission_.caller, job) || job.spec().upload().empty()) {
      return NoSuchJob(common::JobId(request_.job_id()));
    }
    user_ = job.spec().owner();
    const std::string& name = job.spec().upload();
    ACCEL_ASSIGN_OR_RETURN(const std::string manifest, store_.ReadManifest(user_, name));
    ACCEL_ASSIGN_OR_RETURN(const upload::Tree tree, upload::ParseManifest(manifest));
    absl::flat_hash_map<absl::string_view, int64_t> sizes;
    for (const upload::TreeEntry& entry : tree) {
      if (!entry.is_link()) sizes[entry.sha256] = entry.size;
    }
    // Keeps only the sizes of the requested blobs, because many streams run at a time.
    for (const std::string& sha256 : request_.sha256()) {
      if (sha256 == name) {
        manifest_ = manifest;
      } else if (const auto found = sizes.find(sha256); found != sizes.end()) {
        sizes_[sha256] = found->second;
      } else {
        return absl::NotFoundError("the job's upload has no such file");
      }
    }
    tree_ = name;
    return absl::OkStatus();
  }

  void Next() {
    v1::BlobChunk chunk;
    const absl::StatusOr<bool> more = Fill(&chunk);
    if (!more.ok()) return call_.Finish(more.status());
    if (!*more) return call_.Finish(absl::OkStatus());
    call_.StartWrite(ToBytes(chunk));
  }

  // Fills in the next piece. Returns false if there is none.
  absl::StatusOr<bool> Fill(v1::BlobChunk* chunk) {
    if (left_ == 0) {
      if (next_ == request_.sha256_size()) return false;
      const std::string& sha256 = request_.sha256(next_++);
      is_manifest_ = sha256 == tree_;
      left_ = is_manifest_ ? static_cast<int64_t>(manifest_.size()) : sizes_.at(sha256);
      if (!is_manifest_) {
        ACCEL_ASSIGN_OR_RETURN(file_, store_.OpenBlob(user_, sha256));
      }
      chunk->set_sha256(sha256);
      chunk->set_size(left_);
    }
    std::string* const data = chunk->mutable_data();
    data->resize(static_cast<size_t>(
        std::min<int64_t>(left_, static_cast<int64_t>(upload::kMaxChunkBytes))));
    if (is_manifest_) {
      data->assign(manifest_, manifest_.size() - static_cast<size_t>(left_), data->size());
    } else {
      ACCEL_RETURN_IF_ERROR(ReadWhole(data));
    }
    left_ -= static_cast<int64_t>(data->size());
    return true;
  }

  absl::Status ReadWhole(std::string* data) const {
    for (size_t have = 0; have < data->size();) {
      const ssize_t got = read(file_.get(), data->data() + have, data->size() - have);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return absl::DataLossError("an uploaded file is damaged at the coordinator");
      have += static_cast<size_t>(got);
    }
    return absl::OkStatus();
  }

  ServerCall& call_;
  const Admission admission_;
  const std::unique_ptr<GetSlots::Slot> slot_;
  BlobStore& store_;
  WorkQueue& queue_;
  const v1::GetBlobsRequest request_;
  std::string user_;
  std::string tree_;
  std::string manifest_;
  absl::flat_hash_map<std::string, int64_t> sizes_;
  int next_ = 0;      // The index of the blob after the one that is being sent.
  int64_t left_ = 0;  // Number of bytes of the present blob that are not sent yet.
  bool is_manifest_ = false;
  common::UniqueFd file_;
};

}  // namespace

void ServePut(ServerCall* call, BlobStore* store, WorkQueue* queue, Admission admission) {
  call->React(std::make_unique<PutStream>(call, store, queue, std::move(admission)));
}

void ServeGet(ServerCall* call, BlobStore* store, WorkQueue* queue, Coordinator* coordinator,
              Admission admission, v1::GetBlobsRequest request,
              std::unique_ptr<GetSlots::Slot> slot) {
  auto stream = std::make_unique<GetStream>(call, store, queue, std::move(admission),
                                            std::move(request), std::move(slot));
  GetStream* const begun = stream.get();
  call->React(std::move(stream));
  begun->Begin(coordinator);
}

}  // namespace accel::coordinator
