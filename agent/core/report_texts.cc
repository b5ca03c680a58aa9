#include "agent/core/report_texts.h"

#include <cstddef>
#include <string>
#include <utility>

#include "common/printable.h"

namespace accel::agent {
namespace {

constexpr char kNote[] = "(earlier lines are left out here: the node has too much to report)";
constexpr size_t kLineBytes = 256;
constexpr size_t kFewWordsBytes = 64;
// Added for each text, because it takes space in the message and in the reader's memory.
constexpr int64_t kTextOverhead = 32;

// Last lines up to this total size are kept unchanged, because the note and one line that would
// replace them are not shorter.
constexpr int64_t kShortTailBytes = sizeof(kNote) + kLineBytes + 2 * kTextOverhead;

// The amount of text that is kept in each pass of ShortenTexts().
enum class Keep { kOneTail, kLastLine, kFewWords, kNothing };

int64_t BytesOf(const std::string& text) {
  return static_cast<int64_t>(text.size()) + kTextOverhead;
}

int64_t MessageBytes(const v1::ExitRecord& exit) {
  return exit.message().empty() ? 0 : BytesOf(exit.message());
}

int64_t TailBytes(const v1::ObservedWorker& worker) {
  int64_t bytes = 0;
  for (const std::string& line : worker.last_lines()) bytes += BytesOf(line);
  return bytes;
}

// Returns the first worker that exited with an error code, because its last lines likely tell why.
// Null if there is none.
const v1::ObservedWorker* LikelyOrigin(const v1::ObservedGeneration& generation) {
  for (const v1::ObservedWorker& worker : generation.workers()) {
    if (worker.exit().kind() == v1::ExitRecord::EXITED && worker.exit().code() != 0) return &worker;
  }
  return nullptr;
}

void ShortenTail(Keep keep, v1::ObservedWorker* worker) {
  if (keep > Keep::kLastLine) return worker->clear_last_lines();
  const int lines = worker->last_lines_size();
  if (TailBytes(*worker) <= kShortTailBytes) return;
  std::string last = common::Shortened(worker->last_lines(lines - 1), kLineBytes);
  worker->clear_last_lines();
  worker->add_last_lines(kNote);
  worker->add_last_lines(std::move(last));
}

void ShortenMessage(Keep keep, v1::ExitRecord* exit) {
  if (keep == Keep::kNothing) return exit->clear_message();
  exit->set_message(
      common::Shortened(exit->message(), keep <= Keep::kLastLine ? kLineBytes : kFewWordsBytes));
}

void Shorten(Keep keep, v1::ObservedGeneration* generation) {
  const v1::ObservedWorker* spared = keep == Keep::kOneTail ? LikelyOrigin(*generation) : nullptr;
  if (generation->has_failure()) ShortenMessage(keep, generation->mutable_failure());
  for (v1::ObservedWorker& worker : *generation->mutable_workers()) {
    if (worker.has_exit()) ShortenMessage(keep, worker.mutable_exit());
    if (&worker != spared) ShortenTail(keep, &worker);
  }
}

}  // namespace

int64_t TextBytes(const v1::ObservedGeneration& generation) {
  int64_t bytes = MessageBytes(generation.failure());
  for (const v1::ObservedWorker& worker : generation.workers()) {
    bytes += MessageBytes(worker.exit()) + TailBytes(worker);
  }
  return bytes;
}

bool ShortenTexts(int64_t excess, const std::vector<v1::ObservedGeneration*>& oldest_first) {
  bool any = false;
  for (const Keep keep : {Keep::kOneTail, Keep::kLastLine, Keep::kFewWords, Keep::kNothing}) {
    for (v1::ObservedGeneration* generation : oldest_first) {
      if (excess <= 0) return any;
      const int64_t before = TextBytes(*generation);
      Shorten(keep, generation);
      const int64_t saved = before - TextBytes(*generation);
      any |= saved > 0;
      excess -= saved;
    }
  }
  return any;
}

}  // namespace accel::agent
