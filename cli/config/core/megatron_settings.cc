#include "cli/config/core/setting.h"

namespace accel::cli {
namespace {

using enum Kind;
using enum Given;
using enum Effect;
using enum Print;

constexpr Setting kSettings[] = {
    {"megatron_lm_config", "megatron_lm_tp_degree", kInt, kFileAndFlag, kWorkers, "1", "",
     "MEGATRON_LM_TP_DEGREE", kAsIs, "degree of tensor parallelism"},
    {"megatron_lm_config", "megatron_lm_pp_degree", kInt, kFileAndFlag, kWorkers, "1", "",
     "MEGATRON_LM_PP_DEGREE", kAsIs, "degree of pipeline parallelism"},
    {"megatron_lm_config", "megatron_lm_num_micro_batches", kInt, kFileAndFlag, kWorkers, "", "",
     "MEGATRON_LM_NUM_MICRO_BATCHES", kAsIs, "number of micro-batches"},
    {"megatron_lm_config", "megatron_lm_sequence_parallelism", kTruth, kFileAndFlag, kWorkers, "",
     "", "MEGATRON_LM_SEQUENCE_PARALLELISM", kAsIs, "sequence parallelism"},
    {"megatron_lm_config", "megatron_lm_recompute_activations", kTruth, kFileAndFlag, kWorkers, "",
     "", "MEGATRON_LM_RECOMPUTE_ACTIVATIONS", kAsIs, "selective recomputation of activations"},
    {"megatron_lm_config", "megatron_lm_recompute_granularity", kText, kFileAndFlag, kWorkers, "",
     "full|selective", "MEGATRON_LM_RECOMPUTE_GRANULARITY", kAsIs, "what is recomputed"},
    {"megatron_lm_config", "megatron_lm_recompute_method", kText, kFileAndFlag, kWorkers, "",
     "uniform|block", "MEGATRON_LM_RECOMPUTE_METHOD", kAsIs,
     "how layers are chosen for recomputation"},
    {"megatron_lm_config", "megatron_lm_recompute_num_layers", kInt, kFileAndFlag, kWorkers, "", "",
     "MEGATRON_LM_RECOMPUTE_NUM_LAYERS", kAsIs, "number of layers to recompute"},
    {"megatron_lm_config", "megatron_lm_use_distributed_optimizer", kTruth, kFileAndFlag, kWorkers,
     "", "", "MEGATRON_LM_USE_DISTRIBUTED_OPTIMIZER", kAsIs, "shard optimizer states"},
    {"megatron_lm_config", "megatron_lm_gradient_clipping", kFloat, kFileAndFlag, kWorkers, "1.0",
     "", "MEGATRON_LM_GRADIENT_CLIPPING", kAsIs, "limit of the gradient norm; 0 for none"},
    {"megatron_lm_config", "megatron_lm_use_custom_fsdp", kBool, kFileAndFlag, kWorkers, "false",
     "", "MEGATRON_LM_USE_CUSTOM_FSDP", kAsIs, "FSDP of Megatron-LM"},
    {"megatron_lm_config", "megatron_lm_no_load_optim", kBool, kFileAndFlag, kWorkers, "false", "",
     "MEGATRON_LM_NO_LOAD_OPTIM", kAsIs, "load no optimizer state"},
    {"megatron_lm_config", "megatron_lm_no_save_optim", kBool, kFileAndFlag, kWorkers, "false", "",
     "MEGATRON_LM_NO_SAVE_OPTIM", kAsIs, "save no optimizer state"},
    {"megatron_lm_config", "megatron_lm_eod_mask_loss", kBool, kFileAndFlag, kWorkers, "false", "",
     "MEGATRON_LM_EOD_MASK_LOSS", kAsIs, "mask the loss at the end of documents"},
    {"megatron_lm_config", "megatron_lm_optimizer_cpu_offload", kBool, kFileAndFlag, kWorkers,
     "false", "", "MEGATRON_LM_OPTIMIZER_CPU_OFFLOAD", kAsIs, "keep the optimizer on the CPU"},
    {"megatron_lm_config", "megatron_lm_use_precision_aware_optimizer", kBool, kFileAndFlag,
     kWorkers, "false", "", "MEGATRON_LM_USE_PRECISION_AWARE_OPTIMIZER", kAsIs,
     "optimizer states in lower precision"},
    {"megatron_lm_config", "megatron_lm_overlap_cpu_optimizer_d2h_h2d", kBool, kFileAndFlag,
     kWorkers, "false", "", "MEGATRON_LM_OVERLAP_CPU_OPTIMIZER_D2H_H2D", kAsIs,
     "overlap the copies of a CPU optimizer"},
    {"megatron_lm_config", "megatron_lm_decoder_last_pipeline_num_layers", kInt, kFileAndFlag,
     kWorkers, "", "", "MEGATRON_LM_DECODER_LAST_PIPELINE_NUM_LAYERS", kAsIs,
     "layers of the last pipeline stage"},
    {"megatron_lm_config", "megatron_lm_attention_backend", kText, kFileAndFlag, kWorkers, "", "",
     "MEGATRON_LM_ATTENTION_BACKEND", kAsIs, "backend of attention"},
    {"megatron_lm_config", "megatron_lm_expert_model_parallel_size", kInt, kFileAndFlag, kWorkers,
     "", "", "MEGATRON_LM_EXPERT_MODEL_PARALLEL_SIZE", kAsIs, "degree of expert parallelism"},
    {"megatron_lm_config", "megatron_lm_context_parallel_size", kInt, kFileAndFlag, kWorkers, "",
     "", "MEGATRON_LM_CONTEXT_PARALLEL_SIZE", kAsIs, "degree of context parallelism"},
    {"megatron_lm_config", "megatron_lm_attention_dropout", kFloat, kFileAndFlag, kWorkers, "", "",
     "MEGATRON_LM_ATTENTION_DROPOUT", kAsIs, "dropout of attention"},
    {"megatron_lm_config", "megatron_lm_hidden_dropout", kFloat, kFileAndFlag, kWorkers, "", "",
     "MEGATRON_LM_HIDDEN_DROPOUT", kAsIs, "dropout of hidden states"},
    {"megatron_lm_config", "megatron_lm_attention_softmax_in_fp32", kTruth, kFileAndFlag, kWorkers,
     "", "", "MEGATRON_LM_ATTENTION_SOFTMAX_IN_FP32", kAsIs, "softmax of attention in 32 bits"},
    {"megatron_lm_config", "megatron_lm_expert_tensor_parallel_size", kInt, kFileAndFlag, kWorkers,
     "", "", "MEGATRON_LM_EXPERT_TENSOR_PARALLEL_SIZE", kAsIs,
     "degree of tensor parallelism of experts"},
    {"megatron_lm_config", "megatron_lm_calculate_per_token_loss", kTruth, kFileAndFlag, kWorkers,
     "", "", "MEGATRON_LM_CALCULATE_PER_TOKEN_LOSS", kAsIs, "loss per token"},
    {"megatron_lm_config", "megatron_lm_use_rotary_position_embeddings", kTruth, kFileAndFlag,
     kWorkers, "", "", "MEGATRON_LM_USE_ROTARY_POSITION_EMBEDDINGS", kAsIs,
     "rotary position embeddings"},
};

}  // namespace

absl::Span<const Setting> MegatronSettings() { return kSettings; }

}  // namespace accel::cli
