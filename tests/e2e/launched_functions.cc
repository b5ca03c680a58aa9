// Calls accel::launch() as functions_test.py asks for.
#include <signal.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "accel/launch.h"

namespace {

int rank() { return std::atoi(std::getenv("RANK")); }

void print_error(const accel::LaunchError& error) {
  std::cout << "error " << error.rank() << " " << error.exit_code() << ": " << error.what()
            << std::endl;
}

// Each call needs what the ones before it returned.
void several_calls() {
  std::cout << (accel::is_launched() ? "worker" : "caller") << std::endl;
  const auto ranks = accel::launch([] { return 10 * rank(); }, {.num_processes = 3, .cpu = true});
  std::string failure;
  try {
    accel::launch([] { throw std::invalid_argument("refused"); }, {.cpu = true});
  } catch (const accel::LaunchError& error) {
    failure = error.what();
  }
  const auto texts = accel::launch(
      [&] { return failure + " after " + std::to_string(ranks.at(2)) + std::string(1, '\0'); },
      {.num_processes = 2, .cpu = true});
  std::cout << "bytes " << texts.at(1).size() << ": " << texts.at(1).c_str() << std::endl;
}

// The processes form a world. The caller holds tensors and has used threads before.
void train() {
  torch::set_num_threads(2);
  const torch::Tensor start = torch::ones({1000, 1000}).mm(torch::ones({1000, 1000}));
  const auto sums = accel::launch(
      [&] {
        accel::Accelerator accelerator;
        return accelerator.reduce(start[0][0] + accelerator.process_index());
      },
      {.num_processes = 2, .cpu = true});
  for (const torch::Tensor& sum : sums) std::cout << "sum " << sum.item<float>() << std::endl;
}

void fail(const std::string& how) {
  try {
    accel::launch(
        [&] {
          if (rank() == 1 && how == "throw") throw std::runtime_error("no such data");
          if (rank() == 1 && how == "signal") raise(SIGKILL);
          if (rank() == 1 && how == "exit") std::exit(0);
          if (how != "exit") pause();
        },
        {.num_processes = 2, .cpu = true});
  } catch (const accel::LaunchError& error) {
    print_error(error);
  }
}

void stay(const std::string& folder) {
  accel::launch(
      [&] {
        const std::string path = folder + "/pid." + std::to_string(rank());
        std::ofstream(path) << getpid();
        if (std::rename(path.c_str(), (path + ".whole").c_str()) == 0) pause();
      },
      {.num_processes = 2, .cpu = true});
}

void misuse() {
  try {
    accel::launch([] {}, {.num_processes = 0});
  } catch (const std::invalid_argument& error) {
    std::cout << error.what() << std::endl;
  }
  try {
    accel::launch([] {}, {.program = "/no/such/accel"});
  } catch (const std::runtime_error& error) {
    std::cout << error.what() << std::endl;
  }
  try {
    accel::launch([] { accel::launch([] {}, {.cpu = true}); }, {.cpu = true});
  } catch (const accel::LaunchError& error) {
    print_error(error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const std::string how = argc > 2 ? argv[2] : "";
  if (what == "several_calls") several_calls();
  if (what == "train") train();
  if (what == "fail") fail(how);
  if (what == "stay") stay(how);
  if (what == "misuse") misuse();
}
