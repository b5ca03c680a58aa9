// Keeps a node's report within the size that the coordinator accepts. States, exit codes and
// signals are always reported. Only the texts are shortened: the reasons of failures, and the last
// lines that workers printed. The whole output of a worker remains on the node's disk.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/node.pb.h"

namespace accel::agent {

// Returns the size of a generation's texts in bytes. This is at least their size in a report,
// because each text counts with an overhead for its place in the reader's memory.
int64_t TextBytes(const v1::ObservedGeneration& generation);

// Shortens texts until they are `excess` bytes smaller in total, or none is left. Returns true if
// any text was shortened. It makes up to four passes over the generations, in the given order, and
// stops as soon as enough is saved:
// 1. Each worker keeps its last line and a note. The likely origin of the failure keeps all lines.
// 2. The likely origin keeps no more than the others.
// 3. No lines are kept, and only a few words of each reason.
// 4. No text is kept.
bool ShortenTexts(int64_t excess, const std::vector<v1::ObservedGeneration*>& oldest_first);

}  // namespace accel::agent
