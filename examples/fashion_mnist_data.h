// Fashion-MNIST as Debian's dataset-fashion-mnist installs it, as a torch::data dataset.
#pragma once

#include <torch/torch.h>
#include <zlib.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace examples {

// Returns the data of a gzipped IDX file of unsigned bytes as a tensor of the file's shape.
inline torch::Tensor read_idx(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file)
    throw std::runtime_error("cannot open " + path +
                             ": install dataset-fashion-mnist, or pass --data");
  const auto read = [&](void* to, unsigned size) {
    if (gzread(file.get(), to, size) != static_cast<int>(size))
      throw std::runtime_error(path + " is cut short");
  };
  unsigned char magic[4];
  read(magic, sizeof magic);
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || magic[3] < 1 || magic[3] > 3) {
    throw std::runtime_error(path + " is not an IDX file of unsigned bytes");
  }
  std::vector<std::int64_t> shape;
  std::int64_t count = 1;
  for (int dimension = 0; dimension < magic[3]; ++dimension) {
    unsigned char bytes[4];
    read(bytes, sizeof bytes);
    shape.push_back(bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]);
    if (shape.back() < 0 || shape.back() > 1'000'000)
      throw std::runtime_error(path + " has an absurd shape");
    count *= shape.back();
  }
  if (count > 1'000'000'000) throw std::runtime_error(path + " has an absurd shape");
  torch::Tensor tensor = torch::empty(shape, torch::kUInt8);
  read(tensor.data_ptr(), static_cast<unsigned>(count));
  return tensor;
}

class FashionMnist : public torch::data::datasets::Dataset<FashionMnist> {
 public:
  FashionMnist(const std::string& folder, bool train) {
    const std::string prefix = folder + (train ? "/train" : "/t10k");
    images_ = read_idx(prefix + "-images-idx3-ubyte.gz")
                  .unsqueeze(1)
                  .to(torch::kFloat)
                  .div_(255)
                  .sub_(0.286)
                  .div_(0.353);
    labels_ = read_idx(prefix + "-labels-idx1-ubyte.gz").to(torch::kLong);
    if (images_.size(0) != labels_.size(0))
      throw std::runtime_error(folder + ": as many labels as images expected");
  }

  torch::data::Example<> get(std::size_t index) override {
    return {images_[static_cast<std::int64_t>(index)], labels_[static_cast<std::int64_t>(index)]};
  }

  std::optional<std::size_t> size() const override { return images_.size(0); }

 private:
  torch::Tensor images_;  // [N, 1, 28, 28], standardised.
  torch::Tensor labels_;  // [N]
};

}  // namespace examples
