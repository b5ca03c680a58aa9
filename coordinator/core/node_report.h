// A report as it arrives over an agent's stream, and what is new in it. Three quarters of its bytes
// describe the node: its processors and GPUs, its store sockets, its addresses. Each report has
// this description, which seldom changes. If the description is that of the report before, the
// stream does not parse it (coordinator/report_reader.h). NodeReport then lacks it, and the
// coordinator adds it when it keeps the report.
#pragma once

#include <algorithm>
#include <cstdint>
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
  // A report of which everything may be new. The conversion is implicit, because nothing is lost.
  NodeReport(v1::NodeObserved whole) : observed(std::move(whole)) {}

  v1::NodeObserved observed;  // Has the description only if that may be new.
  News news = News::kDescription;
};

// Returns true if this field of NodeObserved is part of the description.
constexpr bool DescribesNode(int field) {
  return field == v1::NodeObserved::kInventoryFieldNumber ||
         field == v1::NodeObserved::kStoreSocketsFieldNumber ||
         field == v1::NodeObserved::kAddressesFieldNumber;
}

// Returns the memory that the report takes.
inline int64_t SpaceOf(const v1::NodeObserved& report) {
  return static_cast<int64_t>(report.SpaceUsedLong());
}

// Swaps the descriptions of two reports.
inline void SwapDescriptions(v1::NodeObserved* a, v1::NodeObserved* b) {
  v1::Inventory* const inventory = a->release_inventory();
  a->set_allocated_inventory(b->release_inventory());
  b->set_allocated_inventory(inventory);
  a->mutable_store_sockets()->Swap(b->mutable_store_sockets());
  a->mutable_addresses()->Swap(b->mutable_addresses());
}

// Puts `newer` in the place of `older`, the report before it, which nobody has read. What is new in
// either is then new in `newer`.
inline void Replace(NodeReport older, NodeReport* newer) {
  if (older.news == News::kDescription && newer->news != News::kDescription) {
    SwapDescriptions(&older.observed, &newer->observed);
  }
  newer->news = std::max(newer->news, older.news);
}

}  // namespace accel::coordinator
