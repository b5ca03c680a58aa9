// Keeps a node's report within what the coordinator accepts. States, exit codes and signals are
// always reported; the texts beside them (why something failed, and the last lines that workers
// printed) are what can be shortened. All of a worker's output stays on the node's disk.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/node.pb.h"

namespace accel::agent {

// How many bytes a generation's texts take: no less than in a report, because many short texts
// weigh more than their letters where the report is read.
int64_t TextBytes(const v1::ObservedGeneration& generation);

// Makes texts shorter until they take `excess` of these bytes less, or none is left; returns
// whether there was anything to do. Four times it goes through the generations in this order, the
// oldest first, and stops as soon as it is enough. At first each worker keeps its last line and a
// note, and the likely origin of the failure all its lines; then that one keeps no more than the
// others; then there are no lines and a few words of why; then nothing.
bool ShortenTexts(int64_t excess, const std::vector<v1::ObservedGeneration*>& oldest_first);

}  // namespace accel::agent
