// Labelled sentences as numbers of tokens, read from a file or made up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/bert_folder.h"

namespace examples {

struct Sentence {
  std::int64_t label = 0;
  // The two lists are equally long. A segment is 0, or 1 in the second half of a pair of sentences.
  std::vector<std::int64_t> tokens, segments;
};

// Reads a text with one sentence in each line: a label, counted from 0, and then numbers of tokens
// as a tokenizer of Transformers gives them, [CLS] and [SEP] included. Tokens after a "|" are in
// the second segment. Throws std::runtime_error, which names the line.
std::vector<Sentence> read_sentences(const std::string& file, const BertConfig& config);

// Makes sentences of random tokens, of which a quarter is from the eight words of the label.
std::vector<Sentence> made_sentences(std::int64_t count, std::uint64_t seed,
                                     const BertConfig& config);

}  // namespace examples
