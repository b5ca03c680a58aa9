#include "coordinator/core/report.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/ip_address.h"
#include "common/printable.h"
#include "common/status_macros.h"

namespace accel::coordinator {
namespace {

constexpr int kMaxIdBytes = 128;
constexpr int kMaxAddressBytes = 256;

absl::Status AtMost(absl::string_view what, int count, int most) {
  if (count <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(what, ": the report has ", count, "; at most ", most));
}

absl::Status Shorter(absl::string_view what, const std::string& value, int most) {
  if (value.size() <= static_cast<size_t>(most)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", value.size(), " characters; at most ", most));
}

absl::Status CheckName(absl::string_view what, const std::string& value) {
  if (value.empty()) return absl::InvalidArgumentError(absl::StrCat(what, " is missing"));
  return Shorter(what, value, kMaxIdBytes);
}

absl::Status CheckInventory(const v1::Inventory& inventory) {
  ACCEL_RETURN_IF_ERROR(AtMost("inventory.gpus", inventory.gpus_size(), kMaxReportedGpus));
  for (const v1::Gpu& gpu : inventory.gpus()) {
    ACCEL_RETURN_IF_ERROR(Shorter("the uuid of a GPU", gpu.uuid(), kMaxAddressBytes));
    ACCEL_RETURN_IF_ERROR(Shorter("the name of a GPU", gpu.name(), kMaxAddressBytes));
  }
  return absl::OkStatus();
}

// Accepts only numeric addresses, because the store of a job would refuse to start with others.
absl::Status CheckAddresses(const v1::NodeObserved& report) {
  ACCEL_RETURN_IF_ERROR(AtMost("addresses", report.addresses_size(), kMaxReportedAddresses));
  for (const std::string& address : report.addresses()) {
    ACCEL_RETURN_IF_ERROR(Shorter("an address", address, kMaxAddressBytes));
    if (common::IpAddress::Parse(address).has_value()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("addresses: \"", common::Printable(address), "\" is not a numeric address"));
  }
  return absl::OkStatus();
}

// Cuts between characters, because protobuf strings must be valid UTF-8 when they are sent.
void Cut(size_t most, std::string* text) {
  if (text->size() <= most) return;
  size_t size = most;
  while (size > 0 && (static_cast<unsigned char>((*text)[size]) & 0xC0) == 0x80) --size;
  text->resize(size);
}

void CutExit(v1::ExitRecord* exit) { Cut(kMaxReportedTextBytes, exit->mutable_message()); }

void CutLines(google::protobuf::RepeatedPtrField<std::string>* lines) {
  int first = lines->size();
  int bytes = 0;
  while (first > 0 && lines->size() - first < kMaxReportedLines) {
    Cut(kMaxReportedTextBytes, lines->Mutable(first - 1));
    bytes += static_cast<int>(lines->Get(first - 1).size());
    if (bytes > kMaxReportedTailBytes) break;
    --first;
  }
  lines->DeleteSubrange(0, first);
}

absl::Status CheckDescription(const v1::NodeObserved& report) {
  ACCEL_RETURN_IF_ERROR(CheckName("incarnation", report.incarnation()));
  ACCEL_RETURN_IF_ERROR(CheckName("name", report.name()));
  ACCEL_RETURN_IF_ERROR(Shorter("boot_id", report.boot_id(), kMaxIdBytes));
  ACCEL_RETURN_IF_ERROR(Shorter("version", report.version(), kMaxIdBytes));
  ACCEL_RETURN_IF_ERROR(Shorter("address", report.address(), kMaxAddressBytes));
  ACCEL_RETURN_IF_ERROR(Shorter("interface", report.interface(), kMaxAddressBytes));
  ACCEL_RETURN_IF_ERROR(CheckAddresses(report));
  ACCEL_RETURN_IF_ERROR(CheckInventory(report.inventory()));
  ACCEL_RETURN_IF_ERROR(AtMost("store_sockets", report.store_sockets_size(), kMaxReportedSockets));
  for (const v1::StoreSocket& socket : report.store_sockets()) {
    ACCEL_RETURN_IF_ERROR(Shorter("the address of a socket", socket.address(), kMaxAddressBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckState(const v1::NodeObserved& report) {
  ACCEL_RETURN_IF_ERROR(AtMost("generations", report.generations_size(), kMaxReportedGenerations));
  for (const v1::ObservedGeneration& generation : report.generations()) {
    ACCEL_RETURN_IF_ERROR(Shorter("the job_id of a generation", generation.job_id(), kMaxIdBytes));
    ACCEL_RETURN_IF_ERROR(
        AtMost("workers of a generation", generation.workers_size(), kMaxReportedWorkers));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckReport(const NodeReport& report) {
  ACCEL_RETURN_IF_ERROR(CheckName("node_id", report.observed.node_id()));
  if (report.is_whole()) ACCEL_RETURN_IF_ERROR(CheckDescription(report.observed));
  return CheckState(report.observed);
}

void CutTexts(v1::NodeObserved* report) {
  // A field that is not set has no string, and to ask for one to change would make it.
  if (!report->refuses_work().empty()) Cut(kMaxReportedTextBytes, report->mutable_refuses_work());
  if (!report->goodbye().empty()) Cut(kMaxReportedTextBytes, report->mutable_goodbye());
  if (!report->agent_stops().empty()) Cut(kMaxReportedTextBytes, report->mutable_agent_stops());
  for (v1::ObservedGeneration& generation : *report->mutable_generations()) {
    if (generation.has_failure()) CutExit(generation.mutable_failure());
    for (v1::ObservedWorker& worker : *generation.mutable_workers()) {
      if (worker.has_exit()) CutExit(worker.mutable_exit());
      CutLines(worker.mutable_last_lines());
    }
  }
}

}  // namespace accel::coordinator
