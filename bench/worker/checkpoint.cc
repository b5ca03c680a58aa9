// Saves and loads 1 GiB of state, and measures the limits of both: a memory copy of the same bytes,
// and direct writes to the same disk.
//
//   checkpoint save FOLDER   only parameters
//   checkpoint adam FOLDER   a third parameters, two thirds Adam's moments
//   checkpoint load FILE     weights into existing parameters: cold, then warm
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/testing/training.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kWidth = 2048;  // Width of square matrices of 16 MiB.
constexpr int kMatrices = 64;

template <typename Body>
double seconds(Body&& body) {
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Matrices : torch::nn::Module {
  explicit Matrices(int count) {
    for (int i = 0; i < count; ++i) {
      register_parameter("w" + std::to_string(i), torch::ones({kWidth, kWidth}));
    }
  }
};

// Returns the seconds of copying `tensors` into memory that has been touched before.
double memory_copy(const std::vector<torch::Tensor>& tensors) {
  std::vector<std::vector<char>> targets;
  for (const torch::Tensor& tensor : tensors) targets.emplace_back(tensor.nbytes(), 1);
  return seconds([&] {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::memcpy(targets[i].data(), tensors[i].const_data_ptr(), targets[i].size());
    }
  });
}

// Returns the seconds of writing a new file with reserved space, in blocks of 4 MiB, four of
// them in flight.
double direct_write(const std::string& path, std::size_t bytes) {
  constexpr std::size_t kBlock = 4 << 20;
  const double taken = seconds([&] {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
    if (fd < 0) throw std::runtime_error(path + ": no direct writes here");
    (void)::fallocate(fd, 0, 0, static_cast<off_t>(bytes));
    std::atomic<std::size_t> next{0};
    const auto write = [&] {
      auto* block = static_cast<char*>(std::aligned_alloc(4096, kBlock));
      std::memset(block, 1, kBlock);
      for (std::size_t at = next.fetch_add(kBlock); at < bytes; at = next.fetch_add(kBlock)) {
        if (::pwrite(fd, block, kBlock, static_cast<off_t>(at)) != ssize_t{kBlock}) std::abort();
      }
      std::free(block);
    };
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; ++i) threads.emplace_back(write);
    }
    ::fsync(fd);
    ::close(fd);
  });
  std::filesystem::remove(path);
  return taken;
}

void save(const std::string& folder, bool with_adam) {
  accel::Accelerator accelerator(
      {.cpu = true,
       .project = {.project_dir = folder + ".none", .automatic_checkpoint_naming = true}});
  const auto net = std::make_shared<Matrices>(with_adam ? kMatrices / 3 : kMatrices);
  const auto model = accelerator.prepare(net);
  // Finds no checkpoint, but announces that saves will follow.
  if (!with_adam) accelerator.resume_from_newest();
  std::vector<torch::Tensor> state = net->parameters();
  if (with_adam) {
    auto adam = accelerator.prepare(torch::optim::Adam(net->parameters(), 0.001));
    accelerator.resume_from_newest();
    for (const torch::Tensor& parameter : net->parameters()) {
      parameter.mutable_grad() = torch::ones_like(parameter);
    }
    adam.step();
    adam.zero_grad();
    // Adds two more tensors of the same size per parameter, as Adam's two moments.
    for (int i = 0; i < 2; ++i) {
      for (const torch::Tensor& parameter : net->parameters()) state.push_back(parameter);
    }
  }
  std::size_t bytes = 0;
  for (const torch::Tensor& tensor : state) bytes += tensor.nbytes();
  std::printf("bytes %zu\n", bytes);
  std::printf("direct %.4f\n", direct_write(folder + ".direct", bytes));
  for (const char* which : {"first", "next"}) {
    std::printf("%s_memcpy %.4f\n", which, memory_copy(state));
    double stall = 0;
    const double durable = seconds([&] {
      stall = seconds([&] { accelerator.save_state(folder); });
      accelerator.wait_for_save();
    });
    std::printf("%s_stall %.4f\n%s_durable %.4f\n", which, stall, which, durable);
    std::filesystem::remove_all(folder);
  }
}

void load(const std::string& file) {
  accel::Accelerator accelerator({.cpu = true});
  const auto net = std::make_shared<Matrices>(kMatrices);
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
  const auto once = [&] { accelerator.load_checkpoint_in_model(net, file); };
  std::printf("cold %.4f\n", seconds(once));
  once();
  std::printf("warm %.4f\n", seconds(once));
  if (net->parameters().back().sum().item<double>() == 0) throw std::runtime_error("not loaded");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (mode == "save" || mode == "adam") {
    save(argv[2], mode == "adam");
  } else if (mode == "load") {
    load(argv[2]);
  } else {
    std::fprintf(stderr, "usage: checkpoint save|adam|load PATH\n");
    return 2;
  }
}
