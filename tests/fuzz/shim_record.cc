// The record that an agent writes about a shim, which a later release or a full disk may have left
// in any state.
#include "shim/host/shim_record.h"

#include "common/check.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(bytes) {
  using accel::shim::FormatRecord;
  using accel::shim::ParseRecord;
  const auto record = ParseRecord(bytes);
  if (!record.ok()) return accel::fuzz::CheckRefusal(record.status());
  const std::string text = FormatRecord(*record);
  const auto again = ParseRecord(text);
  ACCEL_CHECK(again.ok() && FormatRecord(*again) == text, "a record survives its encoding");
  const auto report = accel::shim::ReportFrom(accel::common::JobId("a0000000"), *record);
  ACCEL_CHECK(report.workers.size() == record->ranks.size(), "each rank has a worker");
  ACCEL_CHECK(report.workers.size() <= accel::shim::kMaxWorkers, "the list of ranks is bounded");
}
