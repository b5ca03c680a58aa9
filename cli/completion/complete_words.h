// Decides what may follow the words of an unfinished command line. Pure: a function provides the
// flags of a command, and the caller adds job ids and node names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/dispatch.h"
#include "common/command_help.h"

namespace accel::cli {

struct Candidate {
  std::string word;
  std::string about;  // One line, or empty.
};

// The kind of words that may follow in addition to the candidates.
enum class Follows { kNothing, kFiles, kFolders, kJobs, kNodes };

struct Completion {
  std::vector<Candidate> candidates;  // Words that begin with the last word of the line.
  Follows follows = Follows::kNothing;
  std::string prefix;  // Precedes a job id or node name in its word, such as "--flag=".
};

// Returns the flags of a command, given its words without "accel".
using Describe = std::function<common::CommandHelp(const Command& command,
                                                   const std::vector<std::string>& words)>;

// Returns what may complete the last of `words`, which follow "accel". The last word may be empty.
Completion CompleteWords(const std::vector<Command>& commands, std::vector<std::string> words,
                         const Describe& describe);

}  // namespace accel::cli
