#include "cli/config/core/setting.h"

namespace accel::cli {
namespace {

using enum Kind;
using enum Given;
using enum Effect;
using enum Print;

constexpr Setting kSettings[] = {
    {"", "tpu", kBool, kSwitch, kRefused, "false", "", "", kAsIs, "accel does not drive TPUs"},
    {"", "tpu_cluster", kBool, kSwitch, kRefused, "false", "", "", kAsIs,
     "accel does not drive TPUs"},
    {"", "no_tpu_cluster", kBool, kSwitch, kReplaced, "false", "", "", kAsIs,
     "accel does not drive TPUs"},
    {"", "tpu_use_cluster", kBool, kFile, kRefused, "false", "", "", kAsIs,
     "accel does not drive TPUs"},
    {"", "tpu_use_sudo", kBool, kFileAndSwitch, kRefused, "false", "", "", kAsIs,
     "accel does not drive TPUs"},
    {"", "tpu_name", kText, kFile, kRefused, "", "", "", kAsIs, "accel does not drive TPUs"},
    {"", "tpu_zone", kText, kFile, kRefused, "", "", "", kAsIs, "accel does not drive TPUs"},
    {"", "tpu_vm", kNames, kFile, kRefused, "", "", "", kAsIs, "accel does not drive TPUs"},
    {"", "tpu_env", kNames, kFile, kRefused, "", "", "", kAsIs, "accel does not drive TPUs"},
    {"", "vm", kText, kFlag, kRefused, "", "", "", kAsIs, "accel does not drive TPUs"},
    {"", "commands", kNames, kFile, kRefused, "", "", "", kAsIs, "accel does not drive TPUs"},
    {"", "command_file", kText, kFile, kRefused, "", "", "", kAsIs, "accel does not drive TPUs"},
    {"", "downcast_bf16", kTruth, kFileAndSwitch, kRefused, "no", "", "", kAsIs,
     "accel does not drive TPUs"},
    {"", "use_mps_device", kBool, kFileAndSwitch, kRefused, "false", "", "", kAsIs,
     "accel does not drive Apple's GPUs (MPS)"},
    {"ipex_config", "ipex", kBool, kFileAndSwitch, kRefused, "false", "", "", kAsIs,
     "accel does not drive Intel's extension for PyTorch (IPEX)"},
    {"ipex_config", "use_xpu", kBool, kFileAndSwitch, kRefused, "false", "", "", kAsIs,
     "accel does not drive Intel's XPUs"},
    {"", "aws_access_key_id", kText, kFlag, kRefused, "", "", "", kAsIs,
     "accel does not drive Amazon SageMaker"},
    {"", "aws_secret_access_key", kText, kFlag, kRefused, "", "", "", kAsIs,
     "accel does not drive Amazon SageMaker"},
};

}  // namespace

absl::Span<const Setting> RefusedSettings() { return kSettings; }

}  // namespace accel::cli
