#include "cli/log_printer.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/render/escape.h"
#include "common/clock.h"

namespace accel::cli {
namespace {

constexpr absl::Duration kPace = absl::Milliseconds(100);

}  // namespace

LogPrinter::LogPrinter(Options options, const Console& console)
    : options_(options),
      console_(console),
      out_(console.out, options.paged || ::isatty(STDOUT_FILENO) == 1, options.prefix),
      err_(console.err, options.paged || ::isatty(STDERR_FILENO) == 1, options.prefix) {
  if (options_.fold && options_.follow) thread_ = std::thread([this] { PrintDue(); });
}

LogPrinter::~LogPrinter() { Finish(); }

void LogPrinter::PrintDue() {
  absl::MutexLock lock(&mutex_);
  while (!mutex_.AwaitWithTimeout(absl::Condition(&finished_), kPace)) {
    for (Output* output : {&out_, &err_}) {
      output->stream << output->fold.Due(common::SteadyClock()->Now()) << std::flush;
    }
  }
}

void LogPrinter::Print(const v1::LogChunk& chunk) {
  absl::MutexLock lock(&mutex_);
  for (const std::string& text : {chunk.error(), chunk.notice()}) {
    if (text.empty()) continue;
    PrintMessage(console_, absl::StrCat("rank ", chunk.rank(), ": ", EscapeControls(text)));
  }
  failed_ |= !chunk.error().empty();
  if (chunk.data().empty() && chunk.gap_bytes() == 0) return;
  if (options_.json) {
    JsonLines& lines = chunk.stream() == v1::STDERR ? json_err_ : json_out_;
    console_.out << lines.Add(chunk.rank(), chunk.gap_bytes(), chunk.data()) << std::flush;
    return;
  }
  Output& output = chunk.stream() == v1::STDERR ? err_ : out_;
  const std::string data =
      output.terminal ? output.safe[chunk.rank()].Add(chunk.data()) : chunk.data();
  if (options_.fold) {
    output.stream << output.fold.Add(chunk.rank(), chunk.gap_bytes(), data,
                                     common::SteadyClock()->Now());
  } else {
    output.stream << output.relay.Add(chunk.rank(), 0, chunk.gap_bytes(), data);
  }
  output.stream << std::flush;
}

void LogPrinter::Finish() {
  {
    absl::MutexLock lock(&mutex_);
    if (finished_) return;
    finished_ = true;
    if (options_.json) console_.out << json_out_.Flush() << json_err_.Flush() << std::flush;
    for (Output* output : {&out_, &err_}) {
      for (auto& [rank, text] : output->safe) {
        const std::string rest = text.Flush();
        if (rest.empty()) continue;
        output->stream << (options_.fold
                               ? output->fold.Add(rank, 0, rest, common::SteadyClock()->Now())
                               : output->relay.Add(rank, 0, 0, rest));
      }
      output->stream << output->relay.Flush() << output->fold.Flush() << std::flush;
    }
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace accel::cli
