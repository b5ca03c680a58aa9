#include "cli/send_upload.h"

#include <unistd.h>

#include <algorithm>
#include <compare>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/retry_deadline.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "security/sha256.h"

namespace accel::cli {
namespace {

constexpr absl::Duration kRetryFor = absl::Seconds(30);
constexpr absl::Duration kBarPause = absl::Milliseconds(100);
constexpr int kBarWidth = 30;
// Number of times that files are sent, apart from broken streams. The second is for files that the
// coordinator removed meanwhile.
constexpr int kMaxSendings = 2;
constexpr size_t kMaxNamed = 5;  // Number of paths in a message.
constexpr double kMiB = 1 << 20;

// The bar, on a terminal, while files travel.
class Bar {
 public:
  Bar(const Console& console, int64_t bytes)
      : console_(console), bytes_(bytes), shown_(::isatty(STDERR_FILENO) == 1) {}
  ~Bar() {
    if (drawn_) console_.err << "\r\x1b[K" << std::flush;
  }

  void Add(size_t bytes) {
    sent_ += static_cast<int64_t>(bytes);
    const absl::Time now = common::SteadyClock()->Now();
    if (!shown_ || now < next_) return;
    next_ = now + kBarPause;
    const int filled = static_cast<int>(kBarWidth * sent_ / std::max<int64_t>(bytes_, 1));
    console_.err << absl::StrFormat("\ruploading [%s%s] %.1f of %.1f MiB\x1b[K",
                                    std::string(static_cast<size_t>(filled), '#'),
                                    std::string(static_cast<size_t>(kBarWidth - filled), ' '),
                                    static_cast<double>(sent_) / kMiB,
                                    static_cast<double>(bytes_) / kMiB)
                 << std::flush;
    drawn_ = true;
  }

 private:
  const Console& console_;
  const int64_t bytes_;
  const bool shown_;
  int64_t sent_ = 0;
  bool drawn_ = false;
  absl::Time next_ = absl::InfinitePast();
};

struct Sent {
  size_t files = 0;
  int64_t bytes = 0;

  friend auto operator<=>(const Sent&, const Sent&) = default;
};

using Entries = std::vector<const upload::TreeEntry*>;

Sent Sum(const Entries& entries) {
  Sent sum = {.files = entries.size()};
  for (const upload::TreeEntry* entry : entries) sum.bytes += entry->size;
  return sum;
}

// Returns one file for each of the hashes that the tree has.
Entries EntriesOf(const std::vector<std::string>& hashes, const upload::LocalTree& local) {
  absl::flat_hash_map<absl::string_view, const upload::TreeEntry*> by_hash;
  for (const upload::TreeEntry& entry : local.tree) {
    if (!entry.is_link()) by_hash[entry.sha256] = &entry;
  }
  Entries entries;
  for (const std::string& sha256 : hashes) {
    const auto found = by_hash.find(sha256);
    if (found != by_hash.end()) entries.push_back(found->second);
  }
  return entries;
}

absl::Status SendEntry(const upload::LocalTree& local, const upload::TreeEntry& entry,
                       const CoordinatorClient::SendChunk& send, Bar* bar) {
  v1::BlobChunk chunk;
  chunk.set_sha256(entry.sha256);
  chunk.set_size(entry.size);
  // The stream's own error says more than this one.
  const absl::Status ended = absl::CancelledError();
  if (entry.size == 0) return send(chunk) ? absl::OkStatus() : ended;
  return upload::ReadEntry(local, entry, [&](absl::string_view bytes) -> absl::Status {
    chunk.set_data(bytes.data(), bytes.size());
    if (!send(chunk)) return ended;
    chunk.clear_sha256();
    chunk.clear_size();
    bar->Add(bytes.size());
    return absl::OkStatus();
  });
}

absl::Status SendAll(CoordinatorClient& client, const upload::LocalTree& local,
                     const Entries& entries, const Console& console) {
  Bar bar(console, Sum(entries).bytes);
  return client.PutBlobs([&](const CoordinatorClient::SendChunk& send) {
    for (const upload::TreeEntry* entry : entries) {
      const absl::Status status = SendEntry(local, *entry, send, &bar);
      if (absl::IsCancelled(status)) break;
      ACCEL_RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  });
}

// Returns why the coordinator has refused the files. It compares their hashes and does not know
// their paths, so those that have changed are looked for here, and only then.
absl::Status WhyRefused(const absl::Status& refused, const std::string& root,
                        const Entries& entries) {
  upload::LocalTree now = {.root = root};
  for (const upload::TreeEntry* entry : entries) now.tree.push_back(*entry);
  ACCEL_RETURN_IF_ERROR(upload::HashTree(&now));
  for (size_t i = 0; i < entries.size(); ++i) {
    if (now.tree[i].sha256 == entries[i]->sha256) continue;
    return absl::AbortedError(
        absl::StrCat(entries[i]->path, " changed while it was uploaded; submit again"));
  }
  return refused;
}

void SayWhat(const upload::LocalTree& local, const Sent& sent, const Console& console) {
  std::string text =
      sent.files == 0 ? absl::StrCat("uploaded nothing, because the coordinator has all ",
                                     local.tree.size(), " files")
                      : absl::StrFormat("uploaded %d of %d files (%.1f MiB)", sent.files,
                                        local.tree.size(), static_cast<double>(sent.bytes) / kMiB);
  if (const size_t count = local.left_out.size(); count > 0) {
    const size_t named = std::min(count, kMaxNamed);
    absl::StrAppend(
        &text, "; left out: ",
        absl::StrJoin(local.left_out.begin(),
                      local.left_out.begin() + static_cast<std::ptrdiff_t>(named), ", "));
    if (count > named) absl::StrAppend(&text, " and ", count - named, " more");
  }
  PrintMessage(console, text);
}

}  // namespace

absl::StatusOr<std::string> SendUpload(CoordinatorClient& client, const upload::LocalTree& local,
                                       const Console& console) {
  const std::string manifest = upload::ToManifest(local.tree);
  RetryDeadline deadline(kRetryFor, client, console);
  Sent sent;
  for (int sendings = 0;;) {
    const auto missing = client.MissingBlobs(manifest);
    absl::Status status = missing.status();
    if (status.ok()) {
      deadline.Renew();
      const auto entries = EntriesOf(*missing, local);
      if (entries.empty()) {
        SayWhat(local, sent, console);
        return absl::BytesToHexString(security::Sha256(manifest));
      }
      if (sendings == kMaxSendings) {
        return absl::InternalError("the coordinator does not keep the files that it is sent");
      }
      sent = std::max(sent, Sum(entries));
      status = SendAll(client, local, entries, console);
      if (absl::IsInvalidArgument(status)) status = WhyRefused(status, local.root, entries);
      sendings += status.ok();
    }
    if (!status.ok() && (!absl::IsUnavailable(status) || !deadline.Pause(status))) return status;
  }
}

}  // namespace accel::cli
