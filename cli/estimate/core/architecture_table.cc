// The modules are those of the models that Transformers' AutoModel makes, without a head.
// Architectures whose modules have the same shapes share rows.
#include "cli/estimate/core/architecture_table.h"

namespace accel::cli {
namespace {

// Bert and its descendants.
constexpr ModuleRow kBert[] = {
    {"embeddings.word_embeddings", "vocab_size*hidden_size"},
    {"embeddings.position_embeddings", "max_position_embeddings*hidden_size"},
    {"embeddings.token_type_embeddings", "type_vocab_size*hidden_size"},
    {"embeddings.LayerNorm", "hidden_size", "hidden_size"},
    {"embeddings.position_ids", "max_position_embeddings", "0", /*is_int64=*/true},
    {"embeddings.token_type_ids", "max_position_embeddings", "0", /*is_int64=*/true},
    {"encoder.layer.{num_hidden_layers}.attention", "4*hidden_size*hidden_size", "4*hidden_size"},
    {"encoder.layer.{num_hidden_layers}.attention.LayerNorm", "hidden_size", "hidden_size"},
    {"encoder.layer.{num_hidden_layers}.intermediate", "hidden_size*intermediate_size",
     "intermediate_size"},
    {"encoder.layer.{num_hidden_layers}.output", "hidden_size*intermediate_size", "hidden_size"},
    {"encoder.layer.{num_hidden_layers}.output.LayerNorm", "hidden_size", "hidden_size"},
    {"pooler.dense", "hidden_size*hidden_size", "hidden_size"},
};

constexpr ModuleRow kDistilBert[] = {
    {"embeddings.word_embeddings", "vocab_size*dim"},
    {"embeddings.position_embeddings", "max_position_embeddings*dim"},
    {"embeddings.LayerNorm", "dim", "dim"},
    {"embeddings.position_ids", "max_position_embeddings", "0", /*is_int64=*/true},
    {"transformer.layer.{n_layers}.attention.q_lin", "dim*dim", "dim"},
    {"transformer.layer.{n_layers}.attention.k_lin", "dim*dim", "dim"},
    {"transformer.layer.{n_layers}.attention.v_lin", "dim*dim", "dim"},
    {"transformer.layer.{n_layers}.attention.out_lin", "dim*dim", "dim"},
    {"transformer.layer.{n_layers}.sa_layer_norm", "dim", "dim"},
    {"transformer.layer.{n_layers}.ffn.lin1", "dim*hidden_dim", "hidden_dim"},
    {"transformer.layer.{n_layers}.ffn.lin2", "dim*hidden_dim", "dim"},
    {"transformer.layer.{n_layers}.output_layer_norm", "dim", "dim"},
};

constexpr ModuleRow kGpt2[] = {
    {"wte", "vocab_size*n_embd"},
    {"wpe", "n_positions*n_embd"},
    {"h.{n_layer}.ln_1", "n_embd", "n_embd"},
    {"h.{n_layer}.attn.c_attn", "3*n_embd*n_embd", "3*n_embd"},
    {"h.{n_layer}.attn.c_proj", "n_embd*n_embd", "n_embd"},
    {"h.{n_layer}.ln_2", "n_embd", "n_embd"},
    {"h.{n_layer}.mlp.c_fc", "n_embd*n_inner", "n_inner"},
    {"h.{n_layer}.mlp.c_proj", "n_embd*n_inner", "n_embd"},
    {"ln_f", "n_embd", "n_embd"},
};

constexpr ModuleRow kGptNeox[] = {
    {"embed_in", "vocab_size*hidden_size"},
    {"layers.{num_hidden_layers}.input_layernorm", "hidden_size", "hidden_size"},
    {"layers.{num_hidden_layers}.post_attention_layernorm", "hidden_size", "hidden_size"},
    {"layers.{num_hidden_layers}.attention.query_key_value", "3*hidden_size*hidden_size",
     "3*attention_bias*hidden_size"},
    {"layers.{num_hidden_layers}.attention.dense", "hidden_size*hidden_size",
     "attention_bias*hidden_size"},
    {"layers.{num_hidden_layers}.mlp.dense_h_to_4h", "hidden_size*intermediate_size",
     "intermediate_size"},
    {"layers.{num_hidden_layers}.mlp.dense_4h_to_h", "hidden_size*intermediate_size",
     "hidden_size"},
    {"final_layer_norm", "hidden_size", "hidden_size"},
};

// Llama and the many models of its shape are composed of the parts below.
constexpr ModuleRow kEmbeddings[] = {
    {"embed_tokens", "vocab_size*hidden_size"},
    {"layers.{num_hidden_layers}.input_layernorm", "hidden_size"},
    {"layers.{num_hidden_layers}.post_attention_layernorm", "hidden_size"},
    {"norm", "hidden_size"},
};
// The frequencies of the rotary embedding, and a copy of them.
constexpr ModuleRow kRotary[] = {{"rotary_emb", "head_dim"}};
// The embeddings of Gemma have a scale, which is one number.
constexpr ModuleRow kGemmaScale[] = {{"embed_tokens", "0", "1"}};
constexpr ModuleRow kAttention[] = {
    {"layers.{num_hidden_layers}.self_attn.q_proj", "hidden_size*queries", "qkv_bias*queries"},
    {"layers.{num_hidden_layers}.self_attn.k_proj", "hidden_size*keys", "qkv_bias*keys"},
    {"layers.{num_hidden_layers}.self_attn.v_proj", "hidden_size*keys", "qkv_bias*keys"},
    {"layers.{num_hidden_layers}.self_attn.o_proj", "hidden_size*queries", "o_bias*hidden_size"},
};
constexpr ModuleRow kFusedAttention[] = {
    {"layers.{num_hidden_layers}.self_attn.qkv_proj", "hidden_size*queries+2*hidden_size*keys"},
    {"layers.{num_hidden_layers}.self_attn.o_proj", "hidden_size*queries"},
};
constexpr ModuleRow kAttentionNorms[] = {
    {"layers.{num_hidden_layers}.self_attn.q_norm", "head_dim"},
    {"layers.{num_hidden_layers}.self_attn.k_norm", "head_dim"},
};
constexpr ModuleRow kMlp[] = {
    {"layers.{num_hidden_layers}.mlp.gate_up_proj", "2*hidden_size*intermediate_size",
     "2*inner_bias*intermediate_size"},
    {"layers.{num_hidden_layers}.mlp.down_proj", "hidden_size*intermediate_size",
     "inner_bias*hidden_size"},
};
constexpr ModuleRow kExperts[] = {
    {"layers.{num_hidden_layers}.mlp.gate", "num_local_experts*hidden_size"},
    {"layers.{num_hidden_layers}.mlp.experts", "3*num_local_experts*hidden_size*intermediate_size"},
};
constexpr ModuleRow kFeedForwardNorms[] = {
    {"layers.{num_hidden_layers}.pre_feedforward_layernorm", "hidden_size"},
    {"layers.{num_hidden_layers}.post_feedforward_layernorm", "hidden_size"},
};

constexpr ModuleRow kT5[] = {
    {"shared", "vocab_size*d_model"},
    {"encoder.block.{num_layers}.layer.0.SelfAttention", "4*d_model*heads"},
    {"encoder.block.{num_layers}.layer.0.layer_norm", "d_model"},
    {"encoder.block.{num_layers}.layer.1.DenseReluDense", "matrices*d_model*d_ff"},
    {"encoder.block.{num_layers}.layer.1.layer_norm", "d_model"},
    {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
     "relative_attention_num_buckets*num_heads"},
    {"encoder.final_layer_norm", "d_model"},
    {"decoder.block.{num_decoder_layers}.layer.0.SelfAttention", "4*d_model*heads"},
    {"decoder.block.{num_decoder_layers}.layer.0.layer_norm", "d_model"},
    {"decoder.block.{num_decoder_layers}.layer.1.EncDecAttention", "4*d_model*heads"},
    {"decoder.block.{num_decoder_layers}.layer.1.layer_norm", "d_model"},
    {"decoder.block.{num_decoder_layers}.layer.2.DenseReluDense", "matrices*d_model*d_ff"},
    {"decoder.block.{num_decoder_layers}.layer.2.layer_norm", "d_model"},
    {"decoder.block.0.layer.0.SelfAttention.relative_attention_bias",
     "relative_attention_num_buckets*num_heads"},
    {"decoder.final_layer_norm", "d_model"},
};

constexpr ModuleRow kVit[] = {
    {"embeddings.cls_token", "hidden_size"},
    {"embeddings.position_embeddings", "side*side*hidden_size+hidden_size"},
    {"embeddings.patch_embeddings.projection", "num_channels*patch_size*patch_size*hidden_size",
     "hidden_size"},
    {"layers.{num_hidden_layers}.attention.qkv", "3*hidden_size*hidden_size",
     "3*qkv_bias*hidden_size"},
    {"layers.{num_hidden_layers}.attention.o_proj", "hidden_size*hidden_size", "hidden_size"},
    {"layers.{num_hidden_layers}.layernorm_before", "hidden_size", "hidden_size"},
    {"layers.{num_hidden_layers}.layernorm_after", "hidden_size", "hidden_size"},
    {"layers.{num_hidden_layers}.mlp.fc1", "hidden_size*intermediate_size", "intermediate_size"},
    {"layers.{num_hidden_layers}.mlp.fc2", "hidden_size*intermediate_size", "hidden_size"},
    {"layernorm", "hidden_size", "hidden_size"},
    {"pooler.dense", "hidden_size*pooler_output_size", "pooler_output_size"},
};

using Numbers = std::vector<ConfigNumber>;

constexpr ConfigNumber kHeadDim = {"head_dim", "hidden_size/num_attention_heads"};
constexpr ConfigNumber kKeyHeads = {"num_key_value_heads", "num_attention_heads"};

// Returns the numbers of Llama's parts. The first three arguments say which of its matrices have a
// bias. `more` has the keys that may be missing. Some architectures need all keys, because
// Transformers has an unrelated default for each of them.
Numbers LlamaNumbers(const char* qkv_bias, const char* o_bias, const char* inner_bias,
                     const Numbers& more) {
  Numbers numbers = {{"attention_bias", "0"},
                     {"mlp_bias", "0"},
                     {"qkv_bias", qkv_bias, /*is_derived=*/true},
                     {"o_bias", o_bias, /*is_derived=*/true},
                     {"inner_bias", inner_bias, /*is_derived=*/true},
                     {"queries", "num_attention_heads*head_dim", /*is_derived=*/true},
                     {"keys", "num_key_value_heads*head_dim", /*is_derived=*/true}};
  numbers.insert(numbers.end(), more.begin(), more.end());
  return numbers;
}

// Returns the numbers of T5 and mT5, whose default activations differ.
Numbers T5Numbers(const char* is_gated) {
  return {{"num_decoder_layers", "num_layers"},
          {"relative_attention_num_buckets", "32"},
          {"heads", "num_heads*d_kv", /*is_derived=*/true},
          {"feed_forward_proj", is_gated, /*is_derived=*/false, /*prefix=*/"gated-"},
          {"matrices", "2+feed_forward_proj", /*is_derived=*/true}};
}

std::vector<Architecture> MakeTable() {
  const Numbers bert = {{"type_vocab_size", "2"}};
  const Numbers gemma = LlamaNumbers("attention_bias", "attention_bias", "0", {});
  return {
      {"bert", {kBert}, bert},
      {"distilbert", {kDistilBert}, {}, /*has_no_blocks=*/true},
      {"gemma", {kEmbeddings, kRotary, kGemmaScale, kAttention, kMlp}, gemma},
      {"gemma2", {kEmbeddings, kRotary, kGemmaScale, kAttention, kMlp, kFeedForwardNorms}, gemma},
      {"gpt2", {kGpt2}, {{"n_inner", "4*n_embd"}}},
      {"gpt_neox",
       {kGptNeox},
       {{"attention_bias", "1"}, {kHeadDim.name, kHeadDim.value, /*is_derived=*/true}},
       /*has_no_blocks=*/false,
       /*rotary_part=*/0.25},
      {"llama",
       {kEmbeddings, kRotary, kAttention, kMlp},
       LlamaNumbers("attention_bias", "attention_bias", "mlp_bias", {kHeadDim, kKeyHeads})},
      {"mistral",
       {kEmbeddings, kRotary, kAttention, kMlp},
       LlamaNumbers("0", "0", "0", {kHeadDim})},
      {"mixtral",
       {kEmbeddings, kRotary, kAttention, kExperts},
       LlamaNumbers("0", "0", "0", {kHeadDim})},
      {"mt5", {kT5}, T5Numbers("1")},
      {"phi3",
       {kEmbeddings, kFusedAttention, kMlp},
       LlamaNumbers("0", "0", "0", {kHeadDim, kKeyHeads}),
       /*has_no_blocks=*/false,
       /*rotary_part=*/1},
      {"qwen2", {kEmbeddings, kRotary, kAttention, kMlp}, LlamaNumbers("1", "0", "0", {kHeadDim})},
      {"qwen3", {kEmbeddings, kRotary, kAttention, kAttentionNorms, kMlp}, gemma},
      {"roberta", {kBert}, bert},
      {"t5", {kT5}, T5Numbers("0")},
      {"vit",
       {kVit},
       {{"qkv_bias", "1"},
        {"num_channels", "3"},
        {"pooler_output_size", "hidden_size"},
        {"side", "image_size/patch_size", /*is_derived=*/true}}},
      {"xlm-roberta", {kBert}, bert},
  };
}

}  // namespace

absl::Span<const Architecture> Architectures() {
  static const auto* const kTable = new std::vector<Architecture>(MakeTable());
  return *kTable;
}

}  // namespace accel::cli
