#include "tests/simulation/simulated_shim_folder.h"

#include <algorithm>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "shim/core/codec.h"

namespace accel::simulation {
namespace {

constexpr char kShims[] = "shims/";

}  // namespace

SimulatedShimFolder::SimulatedShimFolder(NodeDisk* disk, const common::JobId& job)
    : disk_(disk), path_(absl::StrCat(kShims, job.value(), "/")) {}

std::vector<common::JobId> SimulatedShimFolder::List(const NodeDisk& disk) {
  std::vector<common::JobId> jobs;
  for (const std::string& name : disk.List(kShims)) jobs.emplace_back(name);
  return jobs;
}

absl::Status SimulatedShimFolder::WriteRecord(const shim::ShimRecord& record) {
  return disk_->Write(absl::StrCat(path_, "record.", record.generation),
                      shim::FormatRecord(record));
}

shim::ShimRecord SimulatedShimFolder::ReadRecord() const {
  int newest = -1;
  for (const std::string& name : disk_->List(path_)) {
    absl::string_view number = name;
    int generation = 0;
    if (!absl::ConsumePrefix(&number, "record.")) continue;
    if (absl::SimpleAtoi(number, &generation)) newest = std::max(newest, generation);
  }
  const auto text = disk_->Read(absl::StrCat(path_, "record.", newest));
  if (!text.has_value()) return {};
  const absl::StatusOr<shim::ShimRecord> record = shim::ParseRecord(*text);
  return record.ok() ? *record : shim::ShimRecord();
}

absl::Status SimulatedShimFolder::WriteStarted(common::Generation generation) {
  return disk_->Write(path_ + "started", absl::StrCat(generation));
}

common::Generation SimulatedShimFolder::ReadStarted() const {
  common::Generation generation = 0;
  const auto text = disk_->Read(path_ + "started");
  return text.has_value() && absl::SimpleAtoi(*text, &generation) ? generation : 0;
}

void SimulatedShimFolder::WriteResult(const shim::GenerationReport& report) {
  disk_->Write(path_ + "result", shim::EncodeReport(report)).IgnoreError();
}

std::optional<shim::GenerationReport> SimulatedShimFolder::ReadResult() const {
  const auto bytes = disk_->Read(path_ + "result");
  if (!bytes.has_value()) return std::nullopt;
  absl::StatusOr<shim::ShimMessage> message = shim::DecodeMessage(shim::FrameType::kReport, *bytes);
  if (!message.ok() || !std::holds_alternative<shim::GenerationReport>(*message)) {
    return std::nullopt;
  }
  return std::get<shim::GenerationReport>(*std::move(message));
}

}  // namespace accel::simulation
