#include "cli/config/core/questionnaire.h"

namespace accel::cli {
namespace {

constexpr absl::string_view kYesNo = "yes|no";

std::string Text(const Answers& answers, absl::string_view name) {
  const auto found = answers.find(name);
  return found == answers.end() ? "" : PythonText(found->second);
}

bool Is(const Answers& answers, absl::string_view name) {
  const auto found = answers.find(name);
  return found != answers.end() && !IsFalse(found->second);
}

int64_t Number(const Answers& answers, absl::string_view name) {
  const auto found = answers.find(name);
  const int64_t* number = found == answers.end() ? nullptr : found->second.As<int64_t>();
  return number == nullptr ? 0 : *number;
}

bool IsGpu(const Answers& a) { return Text(a, "machine_type") == "multi-GPU"; }
bool IsCpu(const Answers& a) { return Text(a, "machine_type") == "multi-CPU"; }
bool IsNo(const Answers& a) { return !IsGpu(a) && !IsCpu(a); }
bool IsMulti(const Answers& a) { return !IsNo(a); }
bool HasMachines(const Answers& a) { return Number(a, "num_machines") > 1; }
bool UsesCluster(const Answers& a) { return Is(a, "use_coordinator"); }
bool MachinesMeet(const Answers& a) { return HasMachines(a) && !UsesCluster(a); }
bool UsesCpu(const Answers& a) { return IsCpu(a) || Is(a, "use_cpu"); }
bool UsesDynamo(const Answers& a) { return Is(a, "use_dynamo"); }
bool CustomDynamo(const Answers& a) { return Is(a, "use_custom_options"); }
bool UsesDeepSpeed(const Answers& a) { return Is(a, "use_deepspeed"); }
bool OwnDeepSpeed(const Answers& a) { return UsesDeepSpeed(a) && !Is(a, "use_deepspeed_config"); }
bool Offloads(const Answers& a) { return OwnDeepSpeed(a) && Text(a, "zero_stage") >= "2"; }
bool UsesFsdp(const Answers& a) { return Is(a, "use_fsdp"); }
bool Fsdp1(const Answers& a) { return UsesFsdp(a) && Text(a, "fsdp_version") == "1"; }
bool Fsdp2(const Answers& a) { return UsesFsdp(a) && Text(a, "fsdp_version") == "2"; }
bool Wraps(const Answers& a, absl::string_view policy) {
  return UsesFsdp(a) && Text(a, "fsdp_auto_wrap_policy") == policy;
}
bool UsesMesh(const Answers& a) { return Is(a, "use_parallelism_config"); }
bool UsesMegatron(const Answers& a) { return Is(a, "use_megatron_lm"); }
bool PlainGpu(const Answers& a) { return IsGpu(a) && !UsesDeepSpeed(a) && !UsesFsdp(a); }
bool Fp8(const Answers& a, absl::string_view backend) { return Text(a, "fp8_backend") == backend; }

// Each line break in this table stands where the formatter wants it.
constexpr Question kQuestions[] = {
    {"machine_type", "Which type of machine are you using?", "No distributed training",
     "No distributed training|multi-CPU|multi-GPU", nullptr},
    {"num_machines",
     "How many different machines will you use (use more than 1 for multi-node training)?", "1", "",
     IsMulti},
    {"use_coordinator",
     "Do you want to submit the job to the coordinator of a cluster? Otherwise you start the same "
     "command on each machine.",
     "no", kYesNo, HasMachines},
    {"coordinator", "What is the address of the coordinator (HOST:PORT)?", "127.0.0.1:7337", "",
     UsesCluster},
    {"machine_rank", "What is the rank of this machine?", "0", "", MachinesMeet},
    {"main_process_ip", "What is the IP address of the machine that will host the main process?",
     "", "", MachinesMeet},
    {"main_process_port", "What is the port you will use to communicate with the main process?",
     "29500", "", MachinesMeet},
    // The answer is for Accelerate, which can read the same file.
    {"same_network",
     "Are all the machines on the same local network? Answer `no` if nodes are on the cloud and/or "
     "on different network hosts.",
     "yes", kYesNo, MachinesMeet},
    {"debug",
     "Should distributed operations be checked while running for errors? This can avoid timeout "
     "issues but will be slower.",
     "no", kYesNo, IsMulti},
    {"use_cpu", "Do you want to run your training on CPU only (even if a GPU is available)?", "no",
     kYesNo, IsNo},
    {"use_dynamo", "Do you wish to optimize your script with torch dynamo?", "no", kYesNo, nullptr},
    {"dynamo_backend", "Which dynamo backend would you like to use?", "inductor",
     "eager|aot_eager|inductor|aot_ts_nvfuser|nvprims_nvfuser|cudagraphs|ofi|fx2trt|onnxrt|"
     "tensorrt|"
     "aot_torchxla_trace_once|torchxla_trace_once|ipex|tvm",
     UsesDynamo},
    {"use_custom_options", "Do you want to customize the defaults sent to torch.compile?", "no",
     kYesNo, UsesDynamo},
    {"dynamo_mode", "Which mode do you want to use?", "default",
     "default|reduce-overhead|max-autotune", CustomDynamo},
    {"dynamo_use_fullgraph",
     "Do you want the fullgraph mode or it is ok to break model into several subgraphs?", "no",
     kYesNo, CustomDynamo},
    {"dynamo_use_dynamic", "Do you want to enable dynamic shape tracing?", "no", kYesNo,
     CustomDynamo},
    {"dynamo_use_regional_compilation", "Do you want to enable regional compilation?", "no", kYesNo,
     CustomDynamo},
    {"use_deepspeed", "Do you want to use DeepSpeed?", "no", kYesNo,
     [](const Answers& a) { return !IsCpu(a) && !UsesCpu(a); }},
    {"use_deepspeed_config", "Do you want to specify a json file to a DeepSpeed config?", "no",
     kYesNo, UsesDeepSpeed},
    {"deepspeed_config_file", "Please enter the path to the json DeepSpeed config file", "none", "",
     [](const Answers& a) { return UsesDeepSpeed(a) && Is(a, "use_deepspeed_config"); }},
    {"zero_stage", "What should be your DeepSpeed's ZeRO optimization stage?", "2", "0|1|2|3",
     OwnDeepSpeed},
    {"offload_optimizer_device", "Where to offload optimizer states?", "none", "none|cpu|nvme",
     Offloads},
    {"offload_param_device", "Where to offload parameters?", "none", "none|cpu|nvme", Offloads},
    {"offload_param_nvme_path", "Nvme Path to offload parameters?", "/nvme", "",
     [](const Answers& a) { return Text(a, "offload_param_device") == "nvme"; }},
    {"offload_optimizer_nvme_path", "Nvme Path to offload optimizer states?", "/nvme", "",
     [](const Answers& a) { return Text(a, "offload_optimizer_device") == "nvme"; }},
    {"gradient_accumulation_steps",
     "How many gradient accumulation steps you're passing in your script?", "1", "", OwnDeepSpeed},
    {"use_gradient_clipping", "Do you want to use gradient clipping?", "no", kYesNo, OwnDeepSpeed},
    {"gradient_clipping", "What is the gradient clipping value?", "1.0", "",
     [](const Answers& a) { return Is(a, "use_gradient_clipping"); }},
    {"zero3_save_16bit_model", "Do you want to save 16-bit model weights when using ZeRO Stage-3?",
     "no", kYesNo,
     [](const Answers& a) { return OwnDeepSpeed(a) && Text(a, "zero_stage") == "3"; }},
    {"zero3_init_flag",
     "Do you want to enable `deepspeed.zero.Init` when using ZeRO Stage-3 for constructing massive "
     "models?",
     "no", kYesNo, UsesDeepSpeed},
    {"use_moe", "Do you want to enable Mixture-of-Experts training (MoE)?", "no", kYesNo,
     UsesDeepSpeed},
    {"deepspeed_moe_layer_cls_names",
     "Specify the comma-separated list of transformers MoE layer class names (case-sensitive)", "",
     "", [](const Answers& a) { return Is(a, "use_moe"); }},
    {"use_fsdp", "Do you want to use FullyShardedDataParallel?", "no", kYesNo,
     [](const Answers& a) { return IsGpu(a) && !UsesDeepSpeed(a); }},
    {"fsdp_version", "What should be your FSDP version?", "2", "1|2", UsesFsdp},
    // Accelerate writes this answer as fsdp_reshard_after_forward, and then ignores it.
    {"fsdp_sharding_strategy", "What should be your sharding strategy?", "FULL_SHARD",
     "FULL_SHARD|SHARD_GRAD_OP|NO_SHARD|HYBRID_SHARD|HYBRID_SHARD_ZERO2", Fsdp1},
    {"fsdp_reshard_after_forward", "Do you want to enable resharding after forward?", "yes", kYesNo,
     Fsdp2},
    {"fsdp_offload_params", "Do you want to offload parameters and gradients to CPU?", "no", kYesNo,
     UsesFsdp},
    {"fsdp_auto_wrap_policy", "What should be your auto wrap policy?", "TRANSFORMER_BASED_WRAP",
     "TRANSFORMER_BASED_WRAP|SIZE_BASED_WRAP|NO_WRAP", UsesFsdp},
    {"use_no_split_modules",
     "Do you want to use the model's `_no_split_modules` to wrap. Only applicable for Transformers",
     "no", kYesNo, [](const Answers& a) { return Wraps(a, "TRANSFORMER_BASED_WRAP"); }},
    {"fsdp_transformer_layer_cls_to_wrap",
     "Specify the comma-separated list of transformer layer class names (case-sensitive) to wrap, "
     "e.g. `BertLayer`, `GPTJBlock`, `T5Block`",
     "", "",
     [](const Answers& a) {
       return Wraps(a, "TRANSFORMER_BASED_WRAP") && !Is(a, "use_no_split_modules");
     }},
    {"fsdp_min_num_params",
     "What should be your FSDP's minimum number of parameters for Default Auto Wrapping Policy?",
     "100000000", "", [](const Answers& a) { return Wraps(a, "SIZE_BASED_WRAP"); }},
    {"fsdp_backward_prefetch", "What should be your FSDP's backward prefetch policy?",
     "BACKWARD_PRE", "BACKWARD_PRE|BACKWARD_POST|NO_PREFETCH", Fsdp1},
    {"fsdp_state_dict_type", "What should be your FSDP's state dict type?", "FULL_STATE_DICT",
     "FULL_STATE_DICT|LOCAL_STATE_DICT|SHARDED_STATE_DICT", Fsdp1},
    {"fsdp_state_dict_type", "What should be your FSDP's state dict type?", "SHARDED_STATE_DICT",
     "SHARDED_STATE_DICT|FULL_STATE_DICT", Fsdp2},
    {"fsdp_forward_prefetch", "Do you want to enable FSDP's forward prefetch policy?", "no", kYesNo,
     Fsdp1},
    {"fsdp_use_orig_params", "Do you want to enable FSDP's `use_orig_params` feature?", "yes",
     kYesNo, Fsdp1},
    {"fsdp_cpu_ram_efficient_loading",
     "Do you want to enable CPU RAM efficient model loading? Only applicable for Transformers "
     "models.",
     "yes", kYesNo, UsesFsdp},
    {"fsdp_sync_module_states",
     "Do you want each individually wrapped FSDP unit to broadcast module parameters from rank 0 "
     "at "
     "the start?",
     "yes", kYesNo,
     [](const Answers& a) { return Fsdp1(a) && !Is(a, "fsdp_cpu_ram_efficient_loading"); }},
    {"fsdp_activation_checkpointing", "Do you want to enable FSDP activation checkpointing?", "no",
     kYesNo, UsesFsdp},
    {"use_parallelism_config", "Do you want to use the parallelism config?", "no", kYesNo, Fsdp2},
    {"parallelism_config_dp_replicate_size", "What is the data parallelism replicate size?", "1",
     "", UsesMesh},
    {"parallelism_config_dp_shard_size", "What is the FSDP shard size?", "1", "", UsesMesh},
    {"parallelism_config_tp_size", "What is the tensor parallelism size?", "1", "", UsesMesh},
    {"parallelism_config_cp_size", "What is the context parallelism size?", "1", "", UsesMesh},
    {"parallelism_config_cp_comm_strategy",
     "What is the compute parallelism communication strategy?", "allgather", "allgather|alltoall",
     [](const Answers& a) { return Number(a, "parallelism_config_cp_size") > 1; }},
    {"use_megatron_lm", "Do you want to use Megatron-LM?", "no", kYesNo, PlainGpu},
    {"megatron_lm_tp_degree", "What is the Tensor Parallelism degree/size?", "1", "", UsesMegatron},
    {"megatron_lm_sequence_parallelism", "Do you want to enable Sequence Parallelism?", "yes",
     kYesNo, [](const Answers& a) { return Number(a, "megatron_lm_tp_degree") > 1; }},
    {"megatron_lm_pp_degree", "What is the Pipeline Parallelism degree/size?", "1", "",
     UsesMegatron},
    {"megatron_lm_num_micro_batches", "What is the number of micro-batches?", "1", "",
     [](const Answers& a) { return Number(a, "megatron_lm_pp_degree") > 1; }},
    {"megatron_lm_recompute_activations",
     "Do you want to enable selective activation recomputation?", "yes", kYesNo, UsesMegatron},
    {"megatron_lm_use_distributed_optimizer",
     "Do you want to use distributed optimizer which shards optimizer state and gradients across "
     "data parallel ranks?",
     "yes", kYesNo, UsesMegatron},
    {"megatron_lm_gradient_clipping",
     "What is the gradient clipping value based on global L2 Norm (0 to disable)?", "1.0", "",
     UsesMegatron},
    {"num_processes", "How many processes should be used for distributed training?", "1", "",
     IsCpu},
    {"num_processes", "How many GPU(s) should be used for distributed training?", "1", "",
     [](const Answers& a) { return IsGpu(a) || UsesDeepSpeed(a); }},
    {"gpu_ids",
     "What GPU(s) (by id) should be used for training on this machine as a comma-separated list?",
     "all", "",
     [](const Answers& a) {
       return !UsesCpu(a) && !UsesDeepSpeed(a) && !UsesFsdp(a) && !UsesMegatron(a);
     }},
    {"enable_cpu_affinity",
     "Would you like to enable numa efficiency? (Currently only supported on NVIDIA hardware).",
     "no", kYesNo,
     [](const Answers& a) {
       return !UsesCpu(a) && !UsesDeepSpeed(a) && !UsesFsdp(a) && !UsesMegatron(a);
     }},
    {"mixed_precision", "Do you wish to use mixed precision?", "no", "no|fp16|bf16|fp8",
     [](const Answers& a) { return !Is(a, "use_deepspeed_config"); }},
    {"fp8_backend", "Which FP8 backend do you want to use?", "AO", "AO|TE|MSAMP",
     [](const Answers& a) { return Text(a, "mixed_precision") == "fp8"; }},
    {"fp8_use_autocast_during_eval",
     "Do you want to use FP8 autocast during eval mode? Generally better metrics are found when "
     "this is disabled",
     "no", kYesNo, [](const Answers& a) { return Fp8(a, "TE"); }},
    {"fp8_margin", "What margin should be used for gradient scaling?", "0", "",
     [](const Answers& a) { return Fp8(a, "TE"); }},
    {"fp8_interval", "What interval should be used for how often the scaling factor is recomputed?",
     "1", "", [](const Answers& a) { return Fp8(a, "TE"); }},
    {"fp8_format", "Which weight format should be used?", "HYBRID", "HYBRID|E4M3|E5M2",
     [](const Answers& a) { return Fp8(a, "TE"); }},
    {"fp8_amax_history_len",
     "What length of history should be used for the amax scaling factor computation?", "1024", "",
     [](const Answers& a) { return Fp8(a, "TE"); }},
    {"fp8_amax_compute_algo",
     "Which algorithm should be used for the amax scaling factor computation?", "max",
     "max|most_recent", [](const Answers& a) { return Fp8(a, "TE"); }},
    {"fp8_override_linear_precision",
     "Should `fprop`, `dgrad` and `wgrad` GEMMS be executed in higher precision (three truth "
     "values "
     "with commas)?",
     "false,false,false", "", [](const Answers& a) { return Fp8(a, "TE"); }},
    {"fp8_opt_level", "Which optimization level should be used?", "O2", "O1|O2",
     [](const Answers& a) { return Fp8(a, "MSAMP"); }},
    {"fp8_enable_fsdp_float8_all_gather",
     "Do you want to enable FSDP2 float8 all gather? This is recommended for better performance if "
     "using FSDP2.",
     "yes", kYesNo, [](const Answers& a) { return Fp8(a, "AO"); }},
    {"fp8_pad_inner_dim",
     "Do you want to pad the inner dimension of weight matrices before float8 matmuls?", "yes",
     kYesNo, [](const Answers& a) { return Fp8(a, "AO"); }},
};

}  // namespace

absl::Span<const Question> AllQuestions() { return kQuestions; }

}  // namespace accel::cli
