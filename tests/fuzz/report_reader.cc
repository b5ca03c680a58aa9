// The reports of one agent's stream, of which the coordinator parses only what may be new.
//
// The input is a list of reports: a byte for the length of each, and its bytes.
#include "coordinator/report_reader.h"

#include <google/protobuf/stubs/logging.h>

#include <optional>
#include <string>
#include <utility>

#include "common/check.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"

namespace accel::coordinator {
namespace {

// Returns the report in the form that does not depend on how it was parsed: the order of its
// unknown fields does.
std::string Form(v1::NodeObserved report) {
  report.DiscardUnknownFields();
  return report.SerializeAsString();
}

// Reads the reports as a coordinator does that keeps the newest one, and compares each with what a
// parser makes of all its bytes.
class Stream {
 public:
  // Returns false once the stream has ended.
  bool Take(absl::string_view bytes) {
    const grpc::Slice slice(bytes.data(), bytes.size());
    const grpc::ByteBuffer buffer(&slice, 1);
    v1::NodeObserved whole;
    const absl::Status parsed = Parse(buffer, ReportReader::kBounds, &whole);
    absl::StatusOr<NodeReport> read = reader_.Read(buffer);
    ACCEL_CHECK(read.ok() == parsed.ok(), "a reader refuses what a parser refuses");
    if (!read.ok()) {
      fuzz::CheckRefusal(read.status());
      return false;
    }
    if (kept_.has_value() && whole.sequence() <= kept_->sequence()) return true;  // It is ignored.
    ACCEL_CHECK(kept_.has_value() || read->is_whole(), "the first report is whole");
    if (read->news == News::kNothing) CheckRepeats(whole);
    if (read->is_whole()) {
      kept_ = std::move(read->observed);
    } else {
      MoveState(&read->observed, &*kept_);
    }
    ACCEL_CHECK(Form(*kept_) == Form(whole), "nothing is lost, and nothing old remains");
    return true;
  }

 private:
  // Checks that the report equals the one before apart from the sequence and the times.
  void CheckRepeats(v1::NodeObserved report) const {
    v1::NodeObserved before = *kept_;
    for (v1::NodeObserved* each : {&before, &report}) {
      each->clear_sequence();
      each->clear_made_us();
      each->clear_answered_us();
    }
    ACCEL_CHECK(Form(before) == Form(report), "nothing is new in a report without news");
  }

  ReportReader reader_;
  std::optional<v1::NodeObserved> kept_;
};

}  // namespace

FUZZ_TARGET(bytes) {
  google::protobuf::SetLogHandler(nullptr);  // It has a line for each text that is not UTF-8.
  Stream stream;
  while (!bytes.empty()) {
    const size_t size = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    const absl::string_view report = bytes.substr(0, size);
    if (!stream.Take(report)) return;
    bytes.remove_prefix(report.size());
  }
}

}  // namespace accel::coordinator
