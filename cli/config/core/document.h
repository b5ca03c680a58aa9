// The text of a configuration file as a tree of values, each with its place in the text.
//
// YAML and JSON are read by one parser, because YAML contains JSON, and Accelerate itself writes
// JSON into files that end in .yaml. Thread-safe, because everything is a pure function.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/config/core/value.h"

namespace accel::cli {

// A place in a text. Lines and columns count from 1.
struct Mark {
  int line = 1;
  int column = 1;
};

struct Node;

struct Member {
  std::string key;
  Mark mark;
  std::shared_ptr<const Node> node;
};

// A scalar, a list of scalars, or a mapping.
struct Node {
  Mark mark;
  Value value;  // A scalar or a list. Null for a mapping.
  // The words of the scalar or the list as the text has them, such as 0.10 or 007, without quotes.
  std::vector<std::string> words;
  std::vector<Member> members;  // In the order of the text.
  bool is_mapping = false;
  std::vector<Mark> word_marks;  // The place of each of `words` in a list.
};

inline constexpr size_t kMaxConfigBytes = 256 * 1024;

// The required key and an example of a kind of file, for messages about empty files.
struct DocumentKind {
  absl::string_view needs = "distributed_type";
  absl::string_view example = "num_processes: 2";
};

// Parses a document whose top level is a mapping. `file` is the name for messages.
// If the name ends in .json, the text is JSON, whose strings may contain characters as two
// surrogates. INVALID_ARGUMENT: the text is larger than kMaxConfigBytes, not UTF-8, malformed, or
// nested too deeply. It also stands for anchors, a key that is twice in one mapping, and half a
// character in a string of JSON. The message begins with "FILE:LINE:COLUMN: ", or with "FILE: " if
// the text is too large or not UTF-8.
absl::StatusOr<Node> ParseDocument(absl::string_view file, absl::string_view text,
                                   const DocumentKind& kind = {});

// Returns "FILE:LINE:COLUMN".
std::string PlaceOf(absl::string_view file, Mark mark);

// Returns a sentence that quotes a file, made safe to show. Control characters are escaped, and the
// middle of a long sentence is left out.
std::string ShownSentence(absl::string_view sentence);

// Returns INVALID_ARGUMENT with "FILE:LINE:COLUMN: SENTENCE", after ShownSentence().
absl::Status ErrorAt(absl::string_view file, Mark mark, absl::string_view sentence);

}  // namespace accel::cli
