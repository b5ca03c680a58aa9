#include "runtime/checkpoint/rank_files.h"

#include <exception>
#include <future>
#include <optional>

#include "accel/errors.h"

namespace accel::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kNow{1};
constexpr char kFailed[] = "failed: ";

std::string report_key(int rank) { return "report_" + std::to_string(rank); }
std::string life_key(int rank) { return "life_" + std::to_string(rank); }

[[noreturn]] void fail(int rank, const std::string& what) {
  throw CheckpointError("rank " + std::to_string(rank) + ": " + what);
}

std::string await_report(const RankNotes& notes, int rank, const RankFilesPace& pace) {
  std::string last;
  auto heard = steady_clock::now();
  while (true) {
    if (const auto report = notes.read(report_key(rank), pace.sign_of_life)) return *report;
    const std::string life = notes.read(life_key(rank), kNow).value_or("");
    if (life != last) {
      last = life;
      heard = steady_clock::now();
    } else if (steady_clock::now() - heard > pace.silence) {
      fail(rank, "was lost while it wrote its part of the checkpoint");
    }
  }
}

void report_error(const RankNotes& notes, int rank, const std::exception& error) {
  try {
    notes.write(report_key(rank), kFailed + std::string(error.what()));
  } catch (const std::exception&) {
    // The first error is the one to rethrow. Rank 0 learns from the silence that this rank failed.
  }
}

}  // namespace

void report_files(const RankNotes& notes, int rank, const std::function<WrittenFiles()>& write,
                  RankFilesPace pace) {
  // Outside of the try block, because its destructor waits for `write`, and an error of the notes
  // is reported without waiting.
  std::future<WrittenFiles> writing;
  try {
    writing = std::async(std::launch::async, write);
    for (int beat = 1; writing.wait_for(pace.sign_of_life) != std::future_status::ready; ++beat) {
      notes.write(life_key(rank), std::to_string(beat));
    }
    notes.write(report_key(rank),
                manifest_text({.iteration = 0, .num_processes = 1, .files = writing.get()}));
  } catch (const std::exception& error) {
    report_error(notes, rank, error);
    throw;
  }
}

WrittenFiles collect_files(const RankNotes& notes, int world_size, RankFilesPace pace) {
  WrittenFiles all;
  for (int rank = 1; rank < world_size; ++rank) {
    const std::string report = await_report(notes, rank, pace);
    notes.remove(report_key(rank));
    notes.remove(life_key(rank));
    if (report.starts_with(kFailed)) fail(rank, report.substr(sizeof(kFailed) - 1));
    if (report.size() > kMaxManifest) fail(rank, "reports too many files");
    Manifest written = parse_manifest(report, "rank " + std::to_string(rank) + "'s report");
    for (const auto& [name, facts] : written.files) {
      if (!all.emplace(name, facts).second) fail(rank, "has written another rank's " + name);
    }
  }
  return all;
}

}  // namespace accel::runtime
