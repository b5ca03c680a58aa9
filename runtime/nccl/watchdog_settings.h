// The settings of NCCL's watchdog in LibTorch. Only for the plugin.
#pragma once

namespace accel::runtime {

// Sets, in this process's environment, the variables that keep LibTorch's own NCCL watchdog from
// ending the process or delaying its end. Must be called before each ProcessGroupNCCL is made,
// while no other thread reads the environment. Values that the submitter has chosen are kept. A
// launcher's default for TORCH_NCCL_ASYNC_ERROR_HANDLING, which is 1, does not count as chosen.
void quiet_nccl_watchdog();

}  // namespace accel::runtime
