#include "cli/config/core/setting.h"

namespace accel::cli {
namespace {

using enum Kind;
using enum Given;
using enum Effect;
using enum Print;

constexpr Setting kSettings[] = {
    {"deepspeed_config", "deepspeed_config_file", kText, kFileAndFlag, kWorkers, "", "",
     "ACCELERATE_DEEPSPEED_CONFIG_FILE", kAsIs, "DeepSpeed's own configuration file"},
    {"deepspeed_config", "zero_stage", kText, kFileAndFlag, kWorkers, "", "0|1|2|3",
     "ACCELERATE_DEEPSPEED_ZERO_STAGE", kAsIs, "stage of ZeRO"},
    {"deepspeed_config", "gradient_accumulation_steps", kInt, kFileAndFlag, kWorkers, "", "auto",
     "ACCELERATE_GRADIENT_ACCUMULATION_STEPS", kAsIs, "steps of gradient accumulation, or auto"},
    {"deepspeed_config", "gradient_clipping", kFloat, kFileAndFlag, kWorkers, "", "auto",
     "ACCELERATE_GRADIENT_CLIPPING", kLower, "limit of the gradient norm, or auto"},
    {"deepspeed_config", "offload_optimizer_device", kText, kFileAndFlag, kWorkers, "",
     "none|cpu|nvme", "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE", kLower,
     "where optimizer states are kept"},
    {"deepspeed_config", "offload_param_device", kText, kFileAndFlag, kWorkers, "", "none|cpu|nvme",
     "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE", kLower, "where parameters are kept"},
    {"deepspeed_config", "offload_optimizer_nvme_path", kText, kFileAndFlag, kWorkers, "", "",
     "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH", kAsIs,
     "folder for optimizer states, with nvme"},
    {"deepspeed_config", "offload_param_nvme_path", kText, kFileAndFlag, kWorkers, "", "",
     "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH", kAsIs, "folder for parameters, with nvme"},
    {"deepspeed_config", "zero3_init_flag", kTruth, kFileAndFlag, kWorkers, "", "",
     "ACCELERATE_DEEPSPEED_ZERO3_INIT", kLower, "construct models in shards, with stage 3"},
    {"deepspeed_config", "zero3_save_16bit_model", kTruth, kFileAndFlag, kWorkers, "", "",
     "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL", kLower, "save 16-bit weights, with stage 3"},
    {"deepspeed_config", "deepspeed_moe_layer_cls_names", kNames, kFileAndFlag, kWorkers, "", "",
     "ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES", kAsIs, "class names of mixture-of-experts layers"},
    {"deepspeed_config", "deepspeed_multinode_launcher", kText, kFileAndFlag, kLaunch, "",
     "pdsh|standard|openmpi|mvapich|mpich|nossh|slurm", "", kAsIs,
     "how DeepSpeed starts several machines; standard lets accel start them"},
    {"deepspeed_config", "deepspeed_hostfile", kText, kFileAndFlag, kLaunch, "", "", "", kAsIs,
     "host file of DeepSpeed's own launcher"},
    {"deepspeed_config", "deepspeed_exclusion_filter", kText, kFileAndFlag, kLaunch, "", "", "",
     kAsIs, "hosts that DeepSpeed's own launcher leaves out"},
    {"deepspeed_config", "deepspeed_inclusion_filter", kText, kFileAndFlag, kLaunch, "", "", "",
     kAsIs, "hosts that DeepSpeed's own launcher uses"},
};

}  // namespace

absl::Span<const Setting> DeepSpeedSettings() { return kSettings; }

}  // namespace accel::cli
