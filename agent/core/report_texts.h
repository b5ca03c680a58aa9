// Keeps a node's report within the size that the coordinator accepts. States, exit codes and
// signals are always reported. Only the texts are shortened: the reasons of failures, and the last
// lines that workers printed. The whole output of a worker remains on the node's disk.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/node.pb.h"

namespace accel::agent {

// Returns the size of a generation's texts in bytes. Each text counts with an overhead, because it
// also takes space in the message and in the receiver's memory. The result is therefore an upper
// bound of the texts' size in a report.
int64_t TextBytes(const v1::ObservedGeneration& generation);

// Shortens texts until they are `excess` bytes smaller in total, or no text is left. Returns true
// if any text was shortened. Makes up to four passes over the generations, in the given order, and
// stops as soon as enough is saved:
// 1. Each worker with many lines keeps the last one and a note. Each reason is cut to 256 bytes.
//    The likely origin of the failure keeps all its lines.
// 2. The likely origin keeps no more than the other workers.
// 3. No lines are kept, and only a few words of each reason.
// 4. No text is kept.
bool ShortenTexts(int64_t excess, const std::vector<v1::ObservedGeneration*>& oldest_first);

}  // namespace accel::agent
