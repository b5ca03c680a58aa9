#include "agent/code/fetched_code.h"

#include <algorithm>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "agent/code/place_code.h"

namespace accel::agent {

class FetchedCode::Fetch {
 public:
  Fetch(CodeRequest request, const std::string& jobs_dir, BlobCache* cache, common::WakeFd* wake)
      : request_(std::move(request)), jobs_dir_(jobs_dir), cache_(*cache) {
    thread_ = std::thread([this, wake] {
      absl::Status ended = Run();
      {
        absl::MutexLock lock(&mutex_);
        ended_ = std::move(ended);
      }
      wake->Wake();
    });
  }

  ~Fetch() {
    Cancel();
    thread_.join();
  }

  void Cancel() {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    if (reader_ != nullptr) reader_->Cancel();
  }

  const common::JobId& job() const { return request_.job; }

  // Returns the result, or nullopt while the thread is busy.
  std::optional<absl::Status> ended() const {
    absl::MutexLock lock(&mutex_);
    return ended_;
  }

 private:
  absl::Status Run() {
    if (HasCode(jobs_dir_, request_.job, request_.user)) return absl::OkStatus();
    const HoldReader hold = [this](std::shared_ptr<BlobReader> reader) {
      absl::MutexLock lock(&mutex_);
      reader_ = std::move(reader);
      if (cancelled_ && reader_ != nullptr) reader_->Cancel();
      return !cancelled_;
    };
    absl::StatusOr<upload::Tree> tree = cache_.FetchTree(request_.job, request_.tree, hold);
    absl::Status ended = tree.status();
    if (ended.ok()) ended = cache_.FetchBlobs(request_.job, *tree, absl::Now(), hold);
    // What is wrong with what the coordinator sends is not the user's fault.
    if (absl::IsInvalidArgument(ended)) ended = absl::UnavailableError(ended.message());
    if (ended.ok()) ended = Place(*tree);
    // Also after a failure, because what has been fetched until then stays.
    cache_.Shrink();
    return ended;
  }

  absl::Status Place(const upload::Tree& tree) {
    return PlaceCode(
        jobs_dir_, request_.job, request_.user, tree,
        [this](const std::string& sha256) { return cache_.OpenBlob(sha256, absl::Now()); },
        [this](const std::string& sha256) { cache_.Remove(sha256); },
        [this] {
          absl::MutexLock lock(&mutex_);
          return !cancelled_;
        });
  }

  const CodeRequest request_;
  const std::string& jobs_dir_;
  BlobCache& cache_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<BlobReader> reader_ ABSL_GUARDED_BY(mutex_);  // While something is being read.
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

FetchedCode::FetchedCode(std::string jobs_dir, upload::BlobFolder cache,
                         std::unique_ptr<BlobSource> source)
    : jobs_dir_(std::move(jobs_dir)), cache_(std::move(cache), std::move(source)) {}

FetchedCode::~FetchedCode() {
  for (auto& [job, fetch] : fetches_) fetch->Cancel();
}

void FetchedCode::Update() {
  wake_.Clear();
  std::erase_if(leaving_, [](const auto& fetch) { return fetch->ended().has_value(); });
}

bool FetchedCode::IsKnown(const common::JobId& job) const {
  const auto found = fetches_.find(job);
  return found != fetches_.end() && found->second->ended().has_value();
}

absl::StatusOr<std::string> FetchedCode::Find(const common::JobId& job) const {
  const auto found = fetches_.find(job);
  const auto ended = found == fetches_.end() ? std::nullopt : found->second->ended();
  if (ended.has_value() && ended->ok()) return CodeFolder(jobs_dir_, job);
  if (ended.has_value() && absl::IsInvalidArgument(*ended)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the upload cannot be placed: ", ended->message()));
  }
  return absl::UnavailableError(absl::StrCat(
      "the upload did not arrive: ", ended.has_value() ? ended->message() : "it was not fetched"));
}

void FetchedCode::Set(const std::vector<CodeRequest>& requests) {
  std::set<common::JobId> wanted;
  for (const CodeRequest& request : requests) wanted.insert(request.job);
  for (auto fetch = fetches_.begin(); fetch != fetches_.end();) {
    if (wanted.contains(fetch->first)) {
      ++fetch;
      continue;
    }
    fetch->second->Cancel();
    leaving_.push_back(std::move(fetch->second));
    fetch = fetches_.erase(fetch);
  }
  const auto is_busy = [](const auto& fetch) { return !fetch->ended().has_value(); };
  auto busy = static_cast<size_t>(std::count_if(leaving_.begin(), leaving_.end(), is_busy));
  for (const auto& [job, fetch] : fetches_) busy += is_busy(fetch);
  for (const CodeRequest& request : requests) {
    if (fetches_.contains(request.job) || busy >= kMaxFetches) continue;
    // Two fetches would fill the same folder.
    const bool is_leaving = std::any_of(leaving_.begin(), leaving_.end(), [&](const auto& fetch) {
      return fetch->job() == request.job;
    });
    if (is_leaving) continue;
    fetches_[request.job] = std::make_unique<Fetch>(request, jobs_dir_, &cache_, &wake_);
    ++busy;
  }
}

}  // namespace accel::agent
