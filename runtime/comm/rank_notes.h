// Short texts that ranks leave for one another, for threads that work in the background. Such
// threads must not make collectives, because only the training thread can keep their order the same
// on all ranks.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "runtime/core/environment.h"

namespace accel::runtime {

// The notes of a world. The functions throw std::exception if the notes cannot be reached.
struct RankNotes {
  std::function<void(const std::string& key, const std::string& text)> write;
  // Returns the note, or nullopt if there is none after `limit`.
  std::function<std::optional<std::string>(const std::string& key, std::chrono::milliseconds limit)>
      read;
  std::function<void(const std::string& key)> remove;
};

// Connects to the store at the master address, over a separate connection. Every key begins with
// `prefix`, which is the same on all ranks and must not have been used before. One thread may use
// the result. Throws std::exception if the store does not answer within 20 s.
RankNotes connect_notes(const Environment& environment, const std::string& prefix);

}  // namespace accel::runtime
