// A dataset whose samples are tensors in memory. It also includes LibTorch for the workers here.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <optional>

// Sample i is row i of a tensor [samples, width] of floats, with one of 10 classes.
class ReadySamples : public torch::data::datasets::Dataset<ReadySamples> {
 public:
  ReadySamples(std::int64_t samples, std::int64_t width)
      : images_(torch::rand({samples, width})), labels_(torch::arange(samples) % 10) {}

  torch::data::Example<> get(std::size_t index) override {
    const auto i = static_cast<std::int64_t>(index);
    return {images_[i], labels_[i]};
  }
  std::optional<std::size_t> size() const override { return images_.size(0); }

 private:
  torch::Tensor images_, labels_;
};
