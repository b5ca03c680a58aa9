// Decides what may follow the words of an unfinished command line. Pure: the flags of a command
// come from a function, and job ids and node names are left to the caller.
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

// What may follow in addition to the candidates.
enum class Follows { kNothing, kFiles, kFolders, kJobs, kNodes };

struct Completion {
  std::vector<Candidate> candidates;  // Words that begin with the last word of the line.
  Follows follows = Follows::kNothing;
  std::string prefix;  // Precedes a job id or node name in its word, such as "--flag=".
};

// Returns the flags of a command, given its words without "accel".
using Describe = std::function<common::CommandHelp(const Command& command,
                                                   const std::vector<std::string>& words)>;

// `words` follow "accel"; the last one is unfinished, and may be empty.
Completion CompleteWords(const std::vector<Command>& commands, std::vector<std::string> words,
                         const Describe& describe);

}  // namespace accel::cli
