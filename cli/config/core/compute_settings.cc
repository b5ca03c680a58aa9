#include "cli/config/core/setting.h"

namespace accel::cli {
namespace {

using enum Kind;
using enum Given;
using enum Effect;
using enum Print;

constexpr Setting kSettings[] = {
    {"dynamo_config", "dynamo_backend", kText, kFileAndFlag, kWorkers, "no",
     "no|eager|aot_eager|inductor|aot_ts_nvfuser|nvprims_nvfuser|cudagraphs|ofi|fx2trt|onnxrt|"
     "tensorrt|aot_torchxla_trace_once|torchxla_trace_once|ipex|tvm|hpu_backend|neuron",
     "ACCELERATE_DYNAMO_BACKEND", kUpper, "backend of torch.compile"},
    {"dynamo_config", "dynamo_mode", kText, kFileAndFlag, kWorkers, "default",
     "default|reduce-overhead|max-autotune", "ACCELERATE_DYNAMO_MODE", kAsIs,
     "mode of torch.compile"},
    {"dynamo_config", "dynamo_use_fullgraph", kBool, kFileAndSwitch, kWorkers, "false", "",
     "ACCELERATE_DYNAMO_USE_FULLGRAPH", kAsIs, "compile the model as one graph"},
    {"dynamo_config", "dynamo_use_dynamic", kBool, kFileAndSwitch, kWorkers, "false", "",
     "ACCELERATE_DYNAMO_USE_DYNAMIC", kAsIs, "trace dynamic shapes"},
    {"dynamo_config", "dynamo_use_regional_compilation", kBool, kFileAndSwitch, kWorkers, "false",
     "", "ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION", kAsIs, "compile repeated blocks once"},
    {"fp8_config", "fp8_backend", kText, kFileAndFlag, kWorkers, "", "ao|te|msamp",
     "ACCELERATE_FP8_BACKEND", kUpper, "library for FP8: torchao, TransformerEngine or MS-AMP"},
    {"fp8_config", "fp8_use_autocast_during_eval", kBool, kFileAndSwitch, kWorkers, "false", "",
     "ACCELERATE_FP8_USE_AUTOCAST_DURING_EVAL", kAsIs, "use FP8 in evaluation too (te)"},
    {"fp8_config", "fp8_margin", kInt, kFileAndFlag, kWorkers, "0", "", "ACCELERATE_FP8_MARGIN",
     kAsIs, "margin of gradient scaling (te)"},
    {"fp8_config", "fp8_interval", kInt, kFileAndFlag, kWorkers, "1", "", "ACCELERATE_FP8_INTERVAL",
     kAsIs, "steps between two scaling factors (te)"},
    {"fp8_config", "fp8_format", kText, kFileAndFlag, kWorkers, "HYBRID", "HYBRID|E4M3|E5M2",
     "ACCELERATE_FP8_FORMAT", kAsIs, "format of the numbers (te)"},
    {"fp8_config", "fp8_amax_history_len", kInt, kFileAndFlag, kWorkers, "1024", "",
     "ACCELERATE_FP8_AMAX_HISTORY_LEN", kAsIs, "length of the history for the scaling factor (te)"},
    {"fp8_config", "fp8_amax_compute_algo", kText, kFileAndFlag, kWorkers, "most_recent",
     "max|most_recent", "ACCELERATE_FP8_AMAX_COMPUTE_ALGO", kAsIs,
     "how the scaling factor is computed (te)"},
    {"fp8_config", "fp8_override_linear_precision", kNames, kFileAndFlag, kWorkers, "", "", "",
     kAsIs, "compute fprop, dgrad and wgrad in higher precision: three truth values (te)"},
    {"fp8_config", "fp8_opt_level", kText, kFileAndFlag, kWorkers, "O2", "O1|O2",
     "ACCELERATE_FP8_OPT_LEVEL", kAsIs, "8-bit communication (msamp)"},
    {"fp8_config", "fp8_enable_fsdp_float8_all_gather", kBit, kFileAndFlag, kWorkers, "true", "",
     "ACCELERATE_FP8_ENABLE_FSDP_FLOAT8_ALL_GATHER", kAsIs, "gather float8 shards in FSDP 2 (ao)"},
    {"fp8_config", "fp8_pad_inner_dim", kBit, kFileAndFlag, kWorkers, "true", "",
     "ACCELERATE_FP8_PAD_INNER_DIM", kAsIs, "pad matrices to the sizes that FP8 needs (ao)"},
};

}  // namespace

absl::Span<const Setting> DynamoAndFp8Settings() { return kSettings; }

}  // namespace accel::cli
