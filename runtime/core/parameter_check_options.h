#pragma once

namespace accel {

// When the ranks compare digests of their parameters, and throw ParametersDiffer if they have
// trained apart.
struct ParameterCheckOptions {
  // In `debug`: before the second backward pass that reduces gradients, and before every so-manieth
  // after that, which is about as often as optimizers step. 0: never.
  int every_steps = 100;
  // In each save_state(), before anything is written.
  bool at_save = true;
};

}  // namespace accel
