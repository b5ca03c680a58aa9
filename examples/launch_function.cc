#include <iostream>

#include "accel/accelerator.h"
#include "accel/launch.h"

static double train(double rate) {
  accel::Accelerator accelerator;
  const torch::Tensor loss = torch::tensor(rate * (accelerator.process_index() + 1));
  return accelerator.reduce(loss).item<double>();
}

int main() {
  const double rate = 0.5;
  const std::vector<double> losses =
      accel::launch([&] { return train(rate); }, {.num_processes = 2, .cpu = true});
  for (const double loss : losses) std::cout << loss << "\n";
}
