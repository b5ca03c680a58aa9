// Short texts that ranks leave for one another, for threads that work in the background: they must
// not make collectives, whose order belongs to the training thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "runtime/core/environment.h"

namespace accel::runtime {

// The functions throw std::exception if the notes cannot be reached.
struct RankNotes {
  std::function<void(const std::string& key, const std::string& text)> write;
  // Returns the note, or nullopt if there is none after `limit`.
  std::function<std::optional<std::string>(const std::string& key, std::chrono::milliseconds limit)>
      read;
  std::function<void(const std::string& key)> remove;
};

// Connects to the store at the master address, over a connection of its own. Every key gets
// `prefix`, the same on all ranks, which nobody has used before. One thread may use the result.
// Throws std::exception if the store does not answer within 20 s.
RankNotes connect_notes(const Environment& environment, const std::string& prefix);

}  // namespace accel::runtime
