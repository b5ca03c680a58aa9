#include "examples/bert_sentences.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

namespace examples {
namespace {

Sentence parse(const std::string& line, const BertConfig& config, const std::string& where) {
  std::istringstream words(line);
  Sentence sentence;
  if (!(words >> sentence.label) || sentence.label < 0 || sentence.label >= config.num_labels) {
    throw std::runtime_error(where + "begins with no label below " +
                             std::to_string(config.num_labels));
  }
  std::int64_t segment = 0;
  for (std::string word; words >> word;) {
    if (word == "|") {
      segment = 1;
      continue;
    }
    const bool is_number =
        word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || std::stoll(word) >= config.vocab_size || segment >= config.type_vocab_size) {
      throw std::runtime_error(where + word + " is no token of the model");
    }
    sentence.tokens.push_back(std::stoll(word));
    sentence.segments.push_back(segment);
  }
  const auto length = static_cast<std::int64_t>(sentence.tokens.size());
  if (length == 0 || length > config.max_position_embeddings) {
    throw std::runtime_error(where + "has " + std::to_string(length) + " tokens, not 1 to " +
                             std::to_string(config.max_position_embeddings));
  }
  return sentence;
}

}  // namespace

std::vector<Sentence> read_sentences(const std::string& file, const BertConfig& config) {
  std::ifstream text(file);
  if (!text) throw std::runtime_error(file + ": cannot be opened");
  std::vector<Sentence> sentences;
  for (std::string line; std::getline(text, line);) {
    const std::string where = file + ":" + std::to_string(sentences.size() + 1) + ": ";
    sentences.push_back(parse(line, config, where));
  }
  if (sentences.empty()) throw std::runtime_error(file + ": has no sentences");
  return sentences;
}

std::vector<Sentence> made_sentences(std::int64_t count, std::uint64_t seed,
                                     const BertConfig& config) {
  std::mt19937_64 random(seed);
  const auto draw = [&](std::int64_t below) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
  };
  const std::int64_t most = std::min<std::int64_t>(config.max_position_embeddings, 24);
  std::vector<Sentence> sentences(static_cast<std::size_t>(count));
  for (Sentence& sentence : sentences) {
    sentence.label = draw(config.num_labels);
    const std::int64_t length = most - draw(most / 2 + 1);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t word = config.vocab_size / 2 + 8 * sentence.label + draw(8);
      sentence.tokens.push_back(draw(4) == 0 ? word % config.vocab_size : draw(config.vocab_size));
    }
    sentence.segments.resize(sentence.tokens.size());
  }
  return sentences;
}

}  // namespace examples
