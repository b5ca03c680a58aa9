// A report as it arrives over an agent's stream, and what is new in it. Most of its bytes describe
// the node: its name and boot, its processors and GPUs, its store sockets, its addresses. Each
// report has this description, which seldom changes. If the description is that of the report
// before, the stream does not parse it (coordinator/report_reader.h). NodeReport then lacks it, and
// the coordinator keeps that of the report before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "proto/node.pb.h"

namespace accel::coordinator {

// What may differ from the report before over the same stream. Each includes those before it.
enum class News {
  kNothing,      // Only the sequence and the times.
  kVersion,      // applied_version.
  kState,        // All but the description of the node.
  kDescription,  // Everything.
};

struct NodeReport {
  NodeReport() = default;
  // A report of which everything may be new. Not explicit, because the conversion loses nothing.
  NodeReport(v1::NodeObserved whole) : observed(std::move(whole)) {}

  bool is_whole() const { return news == News::kDescription; }

  v1::NodeObserved observed;  // Has the description only if that may be new.
  News news = News::kDescription;
};

// Returns true if this field of NodeObserved is part of the description. A field that this version
// does not know is part of it, so a report in which that field changes is parsed as a whole.
constexpr bool DescribesNode(int field) {
  switch (field) {
    case v1::NodeObserved::kNodeIdFieldNumber:  // Says what the other fields are about.
    case v1::NodeObserved::kSequenceFieldNumber:
    case v1::NodeObserved::kGenerationsFieldNumber:
    case v1::NodeObserved::kRefusesWorkFieldNumber:
    case v1::NodeObserved::kAppliedVersionFieldNumber:
    case v1::NodeObserved::kGoodbyeFieldNumber:
    case v1::NodeObserved::kAgentStopsFieldNumber:
    case v1::NodeObserved::kMadeUsFieldNumber:
    case v1::NodeObserved::kAnsweredUsFieldNumber:
      return false;
    default:
      return true;
  }
}

// Returns why the node or its agent leaves, or an empty string.
inline const std::string& WhyLeaves(const v1::NodeObserved& report) {
  return report.goodbye().empty() ? report.agent_stops() : report.goodbye();
}

// Moves all fields that are not part of the description to *to.
inline void MoveState(v1::NodeObserved* from, v1::NodeObserved* to) {
  if (from->node_id() != to->node_id()) to->set_node_id(from->node_id());
  to->set_sequence(from->sequence());
  to->mutable_generations()->Swap(from->mutable_generations());
  // A field that is not set has no string, and to ask for one to change would make it.
  if (!from->refuses_work().empty() || !to->refuses_work().empty()) {
    to->mutable_refuses_work()->swap(*from->mutable_refuses_work());
  }
  to->set_applied_version(from->applied_version());
  if (!from->goodbye().empty() || !to->goodbye().empty()) {
    to->mutable_goodbye()->swap(*from->mutable_goodbye());
  }
  if (!from->agent_stops().empty() || !to->agent_stops().empty()) {
    to->mutable_agent_stops()->swap(*from->mutable_agent_stops());
  }
  to->set_made_us(from->made_us());
  to->set_answered_us(from->answered_us());
}

// Returns the memory that the report takes.
inline int64_t SpaceOf(const v1::NodeObserved& report) {
  return static_cast<int64_t>(report.SpaceUsedLong());
}

// Returns the part of SpaceOf() that MoveState() moves, without the node_id, which remains the
// same.
inline int64_t SpaceOfState(const v1::NodeObserved& report) {
  return static_cast<int64_t>(report.generations().SpaceUsedExcludingSelfLong() +
                              report.refuses_work().capacity() + report.goodbye().capacity() +
                              report.agent_stops().capacity());
}

// Puts `newer` in the place of `older`, the report before it, which nobody has read. What is new in
// either is then new in `newer`.
inline void Replace(NodeReport older, NodeReport* newer) {
  if (older.is_whole() && !newer->is_whole()) {
    MoveState(&newer->observed, &older.observed);
    newer->observed.Swap(&older.observed);
  }
  newer->news = std::max(newer->news, older.news);
}

}  // namespace accel::coordinator
