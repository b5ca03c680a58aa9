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
#include "common/backoff.h"
#include "common/log.h"
#include "common/priority.h"
#include "common/status_macros.h"

namespace accel::agent {

namespace {

// Pauses of a fetch while the coordinator cannot be reached.
constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestPause = absl::Seconds(1);

}  // namespace

class FetchedCode::Fetch {
 public:
  Fetch(CodePlace place, std::string tree, BlobCache* cache, CodeSync* sync, common::WakeFd* wake)
      : place_(std::move(place)), tree_(std::move(tree)), cache_(*cache), sync_(*sync) {
    thread_ = std::thread([this, wake] {
      common::LowerThreadPriority();  // The threads that copy inherit it.
      absl::Status ended = Run();
      {
        absl::MutexLock lock(&mutex_);
        ended_ = std::move(ended);
      }
      wake->Wake();
      // The cache is shrunk only after ended_ is set, because the job's start waits for ended_. It
      // is shrunk after a failure too, because blobs that were fetched before the failure remain.
      cache_.Shrink();
      {
        absl::MutexLock lock(&mutex_);
        is_over_ = true;
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

  const common::JobId& job() const { return place_.job; }

  // Returns the result, or nullopt if there is none yet.
  std::optional<absl::Status> ended() const {
    absl::MutexLock lock(&mutex_);
    return ended_;
  }
  // Returns true if the thread is done, so that the destructor does not wait.
  bool is_over() const {
    absl::MutexLock lock(&mutex_);
    return is_over_;
  }

 private:
  absl::Status Run() {
    if (HasCode(place_)) return absl::OkStatus();
    const absl::StatusOr<upload::Tree> tree = FetchPatiently();
    if (!tree.ok()) return tree.status();
    absl::Status ended = PlaceCode(place_, *tree, &cache_, [this] {
      absl::MutexLock lock(&mutex_);
      return !cancelled_;
    });
    if (ended.ok()) sync_.Add(place_.job);
    return ended;
  }

  // Fetches the tree and its blobs. Retries while the coordinator cannot be reached, because its
  // absence is no failure of this node. The start deadline of the job bounds the retries.
  absl::StatusOr<upload::Tree> FetchPatiently() {
    common::Backoff pauses(kFirstPause, kLongestPause);
    bool said = false;
    while (true) {
      absl::StatusOr<upload::Tree> tree = FetchOnce();
      // INVALID_ARGUMENT would count as a mistake of the user, but here the coordinator has sent
      // something wrong.
      if (absl::IsInvalidArgument(tree.status())) {
        return absl::UnavailableError(tree.status().message());
      }
      if (!absl::IsUnavailable(tree.status())) return tree;
      if (!std::exchange(said, true)) {
        common::LogWarning("cannot fetch an upload, retrying",
                           {{"job", place_.job.value()}, {"why", tree.status().message()}});
      }
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&cancelled_), pauses.Next())) return tree;
    }
  }

  absl::StatusOr<upload::Tree> FetchOnce() {
    const HoldReader hold = [this](std::shared_ptr<BlobReader> reader) {
      absl::MutexLock lock(&mutex_);
      reader_ = std::move(reader);
      if (cancelled_ && reader_ != nullptr) reader_->Cancel();
      return !cancelled_;
    };
    const absl::Time now = absl::Now();
    absl::StatusOr<upload::Tree> tree = cache_.FetchTree(place_.job, tree_, now, hold);
    if (!tree.ok()) return tree;
    ACCEL_RETURN_IF_ERROR(cache_.FetchBlobs(place_.job, *tree, now, hold));
    return tree;
  }

  const CodePlace place_;
  const std::string tree_;
  BlobCache& cache_;
  CodeSync& sync_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<BlobReader> reader_ ABSL_GUARDED_BY(mutex_);  // Set while it is in use.
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mutex_);
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

FetchedCode::FetchedCode(std::string jobs_dir, std::string boot_id, upload::BlobFolder cache,
                         std::unique_ptr<BlobSource> source, absl::Duration sync_pause)
    : jobs_dir_(std::move(jobs_dir)),
      boot_id_(std::move(boot_id)),
      sync_(jobs_dir_, boot_id_, sync_pause),
      cache_(std::move(cache), std::move(source)) {}

FetchedCode::~FetchedCode() {
  for (auto& [job, fetch] : fetches_) fetch->Cancel();
}

void FetchedCode::Update() {
  wake_.Clear();
  ForgetLeft();
}

void FetchedCode::ForgetLeft() {
  std::erase_if(leaving_, [](const auto& fetch) { return fetch->is_over(); });
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
  // A fetch that was done before it was cancelled causes no further wake-up.
  ForgetLeft();
  const auto is_busy = [](const auto& fetch) { return !fetch->is_over(); };
  auto busy = static_cast<size_t>(std::count_if(leaving_.begin(), leaving_.end(), is_busy));
  for (const auto& [job, fetch] : fetches_) busy += is_busy(fetch);
  for (const CodeRequest& request : requests) {
    if (fetches_.contains(request.job) || busy >= kMaxFetches) continue;
    // Two fetches would fill the same folder.
    const bool is_leaving = std::any_of(leaving_.begin(), leaving_.end(), [&](const auto& fetch) {
      return fetch->job() == request.job;
    });
    if (is_leaving) continue;
    fetches_[request.job] =
        std::make_unique<Fetch>(CodePlace{jobs_dir_, boot_id_, request.job, request.user},
                                request.tree, &cache_, &sync_, &wake_);
    ++busy;
  }
}

}  // namespace accel::agent
