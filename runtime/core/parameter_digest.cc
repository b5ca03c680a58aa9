// The form of the digest. Ranks compare their parameters without sending them, so each parameter
// becomes one 64-bit number, which a GPU must compute where the parameter lies. Therefore:
//
// - It is a sum over words, not a chained checksum such as a CRC, because a sum needs no order and
//   can be split over thousands of threads.
// - Each word is first mixed by a multiplication between two shifts. A plain sum would not notice
//   values that are exchanged, or changes that cancel each other out.
// - The index of the word is mixed in, so that the same word counts differently in another place,
//   and a step that changes every element alike does not add up to zero.
// - Bits are compared, not values, so that NaN equals itself and 0.0 differs from -0.0.
//
// The digest is not cryptographic: it must notice mistakes, not an attacker.
#include "runtime/core/parameter_digest.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

namespace accel::runtime {
namespace {

constexpr char kCauses[] =
    "Look for: a loss whose own backward() is called instead of accelerator.backward(loss); a "
    "module that was cast, loaded or replaced after prepare(); an optimizer that steps on some "
    "ranks only, or holds parameters that no prepared model has; parameters or gradients that are "
    "changed on some ranks only; processors or numbers of threads that differ between the ranks, "
    "so that they round differently";

std::string rank_list(const std::vector<std::size_t>& ranks) {
  constexpr std::size_t kNamed = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kNamed) text += " and " + std::to_string(ranks.size() - kNamed) + " more";
  return text;
}

std::uint64_t of_text(const std::string& text) { return digest_of(std::as_bytes(std::span(text))); }

}  // namespace

std::uint64_t digest_of(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0, word = 0;
  const std::size_t words = bytes.size() / sizeof word, rest = bytes.size() % sizeof word;
  for (std::size_t i = 0; i < words; ++i) {
    std::memcpy(&word, bytes.data() + i * sizeof word, sizeof word);
    sum += digest_of_word(word, i);
  }
  if (rest == 0) return sum;
  word = 0;
  std::memcpy(&word, bytes.data() + words * sizeof word, rest);
  return sum + digest_of_word(word, words);
}

std::vector<std::uint64_t> digests_of(const std::vector<ParameterDigest>& parameters) {
  std::vector<std::uint64_t> out;
  for (const ParameterDigest& one : parameters) {
    out.push_back(digest_of_word(one.bytes, of_text(one.text)));
  }
  return out;
}

std::uint64_t combined(const std::vector<std::uint64_t>& digests) {
  return digest_of(std::as_bytes(std::span(digests))) + digests.size();
}

std::optional<std::size_t> first_difference(const std::vector<std::uint64_t>& mine,
                                            const std::vector<std::uint64_t>& theirs) {
  const auto [end, their_end] =
      std::mismatch(mine.begin(), mine.end(), theirs.begin(), theirs.end());
  if (end == mine.end() && their_end == theirs.end()) return std::nullopt;
  return static_cast<std::size_t>(end - mine.begin());
}

std::string description_of(const ParameterDigest& parameter) {
  char digest[17];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(parameter.bytes));
  return parameter.text + ", with digest " + digest;
}

std::string differing_parameter(const std::vector<std::string>& descriptions) {
  std::map<std::string, std::vector<std::size_t>> holders;
  std::vector<std::string> order;
  for (std::size_t rank = 0; rank < descriptions.size(); ++rank) {
    std::vector<std::size_t>& ranks = holders[descriptions[rank]];
    if (ranks.empty()) order.push_back(descriptions[rank]);
    ranks.push_back(rank);
  }
  // The value that most ranks hold comes first; of equally common values, that of the lowest rank.
  std::stable_sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
    return holders[a].size() > holders[b].size();
  });
  constexpr std::size_t kListed = 8;
  std::string text = "the ranks have trained apart. The first parameter that differs:";
  for (std::size_t i = 0; i < std::min(order.size(), kListed); ++i) {
    text += "\n  - " + rank_list(holders[order[i]]) + ": " + order[i];
  }
  if (order.size() > kListed) {
    text += "\n  - and " + std::to_string(order.size() - kListed) + " other values";
  }
  return text + "\n" + kCauses;
}

}  // namespace accel::runtime
