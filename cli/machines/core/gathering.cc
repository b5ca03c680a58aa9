#include "cli/machines/core/gathering.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/escape.h"
#include "common/ip_address.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

absl::Status CheckText(absl::string_view what, const std::string& text) {
  if (!text.empty() && text.size() <= kMaxRunTextBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must have 1 to ", kMaxRunTextBytes, " bytes, not ", text.size()));
}

// Returns the text in quotes, cut if it is long.
std::string Quote(const std::string& text) {
  constexpr size_t kMost = 200;
  const std::string escaped = EscapeControls(text.substr(0, kMost));
  return absl::StrCat("\"", escaped, text.size() > kMost ? "…\"" : "\"");
}

std::optional<std::string> ValueOf(const v1::RunMachine& machine, const std::string& name) {
  for (const v1::RunTerm& term : machine.terms()) {
    if (term.name() == name) return term.value();
  }
  return std::nullopt;
}

std::string Describe(const std::optional<std::string>& value) {
  return value.has_value() ? Quote(*value) : "nothing";
}

absl::Status Differ(const v1::RunMachine& first, const v1::RunMachine& other,
                    const std::string& what, const std::optional<std::string>& ours,
                    const std::optional<std::string>& theirs) {
  return absl::InvalidArgumentError(
      absl::StrCat("the machines must run the same command, and ", what,
                   " differs: ", EscapeControls(first.host()), " has ", Describe(ours), ", ",
                   EscapeControls(other.host()), " has ", Describe(theirs)));
}

}  // namespace

absl::Status CheckMachine(const v1::RunMachine& machine) {
  ACCEL_RETURN_IF_ERROR(CheckText("host", machine.host()));
  ACCEL_RETURN_IF_ERROR(CheckText("version", machine.version()));
  if (!common::IpAddress::Parse(machine.address()).has_value()) {
    return absl::InvalidArgumentError("address: it is no numeric address");
  }
  if (machine.processes() < 0 || machine.processes() > kMaxRunProcesses) {
    return absl::InvalidArgumentError(
        absl::StrCat("processes: ", machine.processes(), "; from 0 to ", kMaxRunProcesses));
  }
  if (machine.terms_size() > kMaxRunTerms) {
    return absl::InvalidArgumentError(
        absl::StrCat("terms: there are ", machine.terms_size(), "; at most ", kMaxRunTerms));
  }
  size_t bytes = 0;
  for (const v1::RunTerm& term : machine.terms()) bytes += term.name().size() + term.value().size();
  if (bytes > kMaxRunTermBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("terms: they have ", bytes, " bytes; at most ", kMaxRunTermBytes));
  }
  return absl::OkStatus();
}

absl::Status Gathering::Compare(const v1::RunMachine& machine) const {
  if (members_.empty()) return absl::OkStatus();
  const v1::RunMachine& first = members_.begin()->second.machine;
  if (first.version() != machine.version()) {
    return Differ(first, machine, "the version of accel", first.version(), machine.version());
  }
  for (const v1::RunTerm& term : first.terms()) {
    const auto value = ValueOf(machine, term.name());
    if (value != term.value()) return Differ(first, machine, term.name(), term.value(), value);
  }
  for (const v1::RunTerm& term : machine.terms()) {
    if (ValueOf(first, term.name()).has_value()) continue;
    return Differ(first, machine, term.name(), std::nullopt, term.value());
  }
  return absl::OkStatus();
}

absl::StatusOr<Gathering::Id> Gathering::Join(const v1::RunMachine& machine) {
  ACCEL_RETURN_IF_ERROR(CheckMachine(machine));
  if (complete_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the run has its ", machines_, machines_ == 1 ? " machine" : " machines",
                     "; each machine starts the command once, and no other machine takes part"));
  }
  ACCEL_RETURN_IF_ERROR(Compare(machine));
  if (machine.has_machine_rank()) {
    const int rank = machine.machine_rank();
    if (rank < 0 || rank >= machines_) {
      return absl::OutOfRangeError(absl::StrCat("machine_rank is ", rank, "; with ", machines_,
                                                " machines it is from 0 to ", machines_ - 1));
    }
    for (const auto& [id, member] : members_) {
      if (!member.machine.has_machine_rank() || member.machine.machine_rank() != rank) continue;
      return absl::AlreadyExistsError(absl::StrCat(EscapeControls(member.machine.host()),
                                                   " already has machine_rank ", rank,
                                                   "; give each machine another one, or none"));
    }
  }
  std::set<std::string> names;
  for (const auto& [id, member] : members_) names.insert(member.node_name);
  std::string name = machine.host();
  for (int i = 2; names.contains(name); ++i) name = absl::StrCat(machine.host(), "-", i);
  const Id id = next_id_++;
  members_[id] = {machine, std::move(name), 0};
  if (static_cast<int>(members_.size()) == machines_) Complete();
  return id;
}

void Gathering::Leave(Id id) { members_.erase(id); }

// Machines with a machine rank get it. The others get the remaining ones: the first one that joined
// comes first, because it serves, and then the lowest address.
void Gathering::Complete() {
  complete_ = true;
  std::set<int> free;
  for (int rank = 0; rank < machines_; ++rank) free.insert(rank);
  std::vector<Member*> without;
  for (auto& [id, member] : members_) {
    if (member.machine.has_machine_rank()) {
      free.erase(member.machine.machine_rank());
      member.placement_order = member.machine.machine_rank() + 1;
    } else {
      without.push_back(&member);
    }
  }
  const Member* serves = &members_.begin()->second;
  std::stable_sort(without.begin(), without.end(), [serves](const Member* a, const Member* b) {
    if ((a == serves) != (b == serves)) return a == serves;
    return common::IpAddress::Parse(a->machine.address())
        ->IsBefore(*common::IpAddress::Parse(b->machine.address()));
  });
  for (Member* member : without) {
    member->placement_order = *free.begin() + 1;
    free.erase(free.begin());
  }
}

std::vector<std::string> Gathering::Hosts() const {
  std::vector<std::string> hosts;
  for (const auto& [id, member] : members_) hosts.push_back(member.node_name);
  return hosts;
}

std::string GatheringText(const std::vector<std::string>& hosts, int machines) {
  return absl::StrCat(hosts.size(), " of ", machines, " machines ",
                      hosts.size() == 1 ? "is" : "are", " here (",
                      EscapeControls(absl::StrJoin(hosts, ", ")), ")");
}

}  // namespace accel::cli
