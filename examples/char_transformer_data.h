// A text as a torch::data dataset of windows of characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/accelerator.h"

namespace examples {

// A text as indices of its characters.
struct Characters {
  explicit Characters(const std::string& text) : table(256, 0) {
    for (const unsigned char c : text) table[c] = 1;
    for (int c = 0; c < 256; ++c) {
      if (table[c] != 0)
        table[c] = static_cast<std::int64_t>(alphabet.size()), alphabet += static_cast<char>(c);
    }
    indices = encode(text);
  }

  torch::Tensor encode(const std::string& text) const {
    torch::Tensor encoded = torch::empty(static_cast<std::int64_t>(text.size()), torch::kLong);
    std::int64_t* to = encoded.data_ptr<std::int64_t>();
    for (const unsigned char c : text) *to++ = table[c];
    return encoded;
  }

  std::string alphabet;
  std::vector<std::int64_t> table;  // From a byte to its place in the alphabet.
  torch::Tensor indices;
};

// Windows of a text, one behind the other, each with the same shifted by one character.
class Windows : public torch::data::datasets::Dataset<Windows> {
 public:
  Windows(torch::Tensor indices, std::int64_t context) : indices_(indices), context_(context) {}

  torch::data::Example<> get(std::size_t index) override {
    const std::int64_t begin = static_cast<std::int64_t>(index) * context_;
    return {indices_.narrow(0, begin, context_), indices_.narrow(0, begin + 1, context_)};
  }
  std::optional<std::size_t> size() const override { return (indices_.size(0) - 1) / context_; }

 private:
  torch::Tensor indices_;
  std::int64_t context_;
};

}  // namespace examples
