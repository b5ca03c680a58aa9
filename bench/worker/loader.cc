// Times an epoch of a prepared data loader, for bench/loader.py.
//
//   loader tensors WORKERS          20,000 samples of 784 floats in memory
//   loader png WORKERS FOLDER       20,000 images FOLDER/0.png, ... of 28 x 28 grey pixels
//   loader decode FOLDER            reads and decodes these images in one thread, without a loader
//
// Prints a line of JSON. The epoch before it, which is not timed, fills the caches. In that epoch
// the threads other than the main one are counted.
#include <png.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "bench/worker/ready_samples.h"

namespace {

constexpr std::int64_t kSamples = 20'000, kPixels = 28 * 28;

using Image = std::array<png_byte, kPixels>;

// Reads and decodes an image. Throws std::runtime_error if the file is not a PNG of 28 x 28 pixels.
void decode(const std::string& file, Image& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const bool begun = png_image_begin_read_from_file(&png, file.c_str()) != 0;
  png.format = PNG_FORMAT_GRAY;
  const bool fits = begun && png.width == 28 && png.height == 28;
  if (!fits || png_image_finish_read(&png, nullptr, image.data(), 0, nullptr) == 0) {
    png_image_free(&png);
    throw std::runtime_error("cannot decode " + file + ": " + png.message);
  }
}

struct Files : torch::data::datasets::Dataset<Files> {
  explicit Files(std::string path) : folder(std::move(path)) {}
  torch::data::Example<> get(std::size_t index) override {
    Image pixels;
    decode(folder + "/" + std::to_string(index) + ".png", pixels);
    const torch::Tensor bytes = torch::from_blob(pixels.data(), {1, 28, 28}, torch::kUInt8);
    return {bytes.to(torch::kFloat).div_(255),
            torch::tensor(static_cast<std::int64_t>(index % 10))};
  }
  std::optional<std::size_t> size() const override { return kSamples; }
  std::string folder;
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::int64_t count_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// Runs `epoch` twice and prints how long the second run took. The first run gets a pointer through
// which it returns its number of worker threads.
template <typename Epoch>
void measure(Epoch&& epoch) {
  std::int64_t helpers = 0;
  epoch(&helpers);
  const double cpu = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  epoch(nullptr);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::printf("{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"helpers\": %td}\n", wall.count(),
              cpu_seconds() - cpu, static_cast<std::ptrdiff_t>(helpers));
}

template <typename Dataset>
void load(Dataset dataset, std::size_t workers) {
  accel::Accelerator accelerator({.cpu = true});
  auto loader =
      accelerator.prepare(accel::make_data_loader<torch::data::samplers::SequentialSampler>(
          dataset.map(torch::data::transforms::Stack<>()),
          torch::data::DataLoaderOptions(64).workers(workers)));
  const std::int64_t before = count_threads();
  measure([&](std::int64_t* helpers) {
    std::int64_t samples = 0;
    for (const auto& batch : loader) {
      if (helpers != nullptr && samples == 0) *helpers = count_threads() - before;
      samples += batch.data.size(0);
    }
    if (samples != kSamples) throw std::runtime_error("samples are missing");
  });
}

void run(const std::vector<std::string>& arguments) {
  at::set_num_threads(1);
  if (arguments.size() == 2 && arguments[0] == "tensors") {
    load(ReadySamples(kSamples, kPixels), std::stoul(arguments[1]));
  } else if (arguments.size() == 3 && arguments[0] == "png") {
    load(Files(arguments[2]), std::stoul(arguments[1]));
  } else if (arguments.size() == 2 && arguments[0] == "decode") {
    measure([&](std::int64_t*) {
      Image image;
      for (std::int64_t i = 0; i < kSamples; ++i) {
        decode(arguments[1] + "/" + std::to_string(i) + ".png", image);
      }
    });
  } else {
    throw std::invalid_argument("loader tensors WORKERS | png WORKERS FOLDER | decode FOLDER");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
