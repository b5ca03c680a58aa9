// Runs every case of fsdp_training.json through the Accelerator, in as many processes as the case
// has: losses, norms and parameters of sharded training are those of Python's FSDP.
#include <gtest/gtest.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "accel/accelerator.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"
#include "tests/conformance/golden.h"

namespace accel {
namespace {

using nlohmann::json;
namespace F = torch::nn::functional;

torch::Tensor tensor_of(const json& value, torch::Dtype dtype = torch::kFloat) {
  std::vector<std::int64_t> shape;
  for (const json* inner = &value; inner->is_array(); inner = &(*inner)[0]) {
    shape.push_back(static_cast<std::int64_t>(inner->size()));
  }
  std::vector<double> flat;
  const auto add = [&](const json& item, const auto& self) -> void {
    if (!item.is_array()) return flat.push_back(item.get<double>());
    for (const json& inner : item) self(inner, self);
  };
  add(value, add);
  return torch::tensor(flat, torch::kDouble).to(dtype).view(shape);
}

struct Network : torch::nn::Module {
  virtual torch::Tensor loss(const torch::Tensor& x, const torch::Tensor& y) = 0;
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& y) { return loss(x, y); }
};

// Linear layers with tanh between them; `extra` is never used.
struct Mlp : Network {
  explicit Mlp(const json& model) {
    const auto sizes = model["sizes"].get<std::vector<std::int64_t>>();
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      layers->push_back(torch::nn::Linear(sizes[i], sizes[i + 1]));
    }
    if (!model.contains("unused")) return;
    const auto width = model["unused"].get<std::int64_t>();
    register_module("extra", torch::nn::Linear(width, width));
  }
  torch::Tensor loss(const torch::Tensor& x, const torch::Tensor& y) override {
    torch::Tensor h = x;
    for (std::size_t i = 0; i < layers->size(); ++i) {
      h = layers[i]->as<torch::nn::Linear>()->forward(i == 0 ? h : torch::tanh(h));
    }
    return F::mse_loss(h, y);
  }
  torch::nn::ModuleList layers = register_module("layers", torch::nn::ModuleList());
};

struct LayerImpl : torch::nn::Module {
  LayerImpl(std::int64_t width, std::int64_t hidden)
      : norm(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        up(register_module("up", torch::nn::Linear(width, hidden))),
        down(register_module("down", torch::nn::Linear(hidden, width))) {}
  torch::Tensor forward(const torch::Tensor& h) { return h + down(torch::gelu(up(norm(h)))); }
  torch::nn::LayerNorm norm;
  torch::nn::Linear up, down;
};
TORCH_MODULE(Layer);

struct Transformer : Network {
  explicit Transformer(const json& model) {
    const auto vocab = model["vocab"].get<std::int64_t>(), width = model["d"].get<std::int64_t>();
    embed = register_module("embed", torch::nn::Embedding(vocab, width));
    for (int i = 0; i < model["layers"].get<int>(); ++i) {
      layers->push_back(Layer(width, model["hidden"].get<std::int64_t>()));
    }
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
    if (model.value("tied", false)) return;
    head = register_module("head",
                           torch::nn::Linear(torch::nn::LinearOptions(width, vocab).bias(false)));
  }
  torch::Tensor loss(const torch::Tensor& x, const torch::Tensor& y) override {
    torch::Tensor h = embed(x);
    for (const auto& layer : *layers) h = layer->as<Layer>()->forward(h);
    h = F::linear(norm(h), head ? head->weight : embed->weight);
    return F::cross_entropy(h.flatten(0, 1), y.flatten());
  }
  torch::nn::Embedding embed{nullptr};
  torch::nn::ModuleList layers = register_module("layers", torch::nn::ModuleList());
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear head{nullptr};
};

std::shared_ptr<Network> network_of(const json& params) {
  const json& model = params["model"];
  std::shared_ptr<Network> network;
  if (model["kind"] == "mlp") {
    network = std::make_shared<Mlp>(model);
  } else {
    network = std::make_shared<Transformer>(model);
  }
  const torch::NoGradGuard no_graph;
  auto parameters = network->named_parameters();
  EXPECT_EQ(parameters.size(), params["initial"].size());
  for (const auto& [name, value] : params["initial"].items()) {
    parameters[name].copy_(tensor_of(value));
  }
  for (const json& name : params.value("frozen", json::array())) {
    parameters[name.get<std::string>()].requires_grad_(false);
  }
  return network;
}

std::shared_ptr<torch::optim::Optimizer> optimizer_of(const json& options,
                                                      std::vector<torch::Tensor> parameters) {
  const double lr = options["lr"], decay = options.value("weight_decay", 0.01);
  if (options["name"] == "SGD") {
    return std::make_shared<torch::optim::SGD>(
        parameters, torch::optim::SGDOptions(lr).momentum(options.value("momentum", 0.0)));
  }
  if (options["name"] == "Adam") {
    return std::make_shared<torch::optim::Adam>(parameters, torch::optim::AdamOptions(lr));
  }
  EXPECT_EQ(options["name"], "AdamW");
  return std::make_shared<torch::optim::AdamW>(parameters,
                                               torch::optim::AdamWOptions(lr).weight_decay(decay));
}

AcceleratorOptions options_of(const json& params) {
  const bool reshards = params["reshard_after_forward"];
  const bool is_hybrid = params.contains("mesh");
  ShardingOptions sharding{
      .strategy = is_hybrid  ? ShardingStrategy::kHybridShard
                  : reshards ? ShardingStrategy::kFullShard
                             : ShardingStrategy::kShardGradOp,
      .shard_size = is_hybrid ? params["mesh"][1].get<int>() : 0,
      .auto_wrap_policy = WrapPolicy::kTransformerBased,
      .transformer_layer_cls_to_wrap = {params["model"]["kind"] == "mlp" ? "Linear" : "Layer"}};
  return {.gradient_accumulation = {.num_steps = params["gradient_accumulation_steps"],
                                    .sync_each_batch = params.value("sync_each_batch", false)},
          .mixed_precision =
              params.contains("mixed_precision") ? MixedPrecision::kBf16 : MixedPrecision::kNo,
          .sharding = sharding};
}

// `state` is empty on all ranks but the first.
template <typename State>
void expect_parameters(const State& state, const json& expected, double tolerance) {
  for (const auto& [name, value] : expected.items()) {
    if (state.is_empty()) return;
    const torch::Tensor golden = tensor_of(value), mine = state[name];
    ASSERT_EQ(mine.sizes(), golden.sizes()) << name;
    const double most = std::max(1.0, golden.abs().max().template item<double>());
    EXPECT_LE((mine - golden).abs().max().template item<double>(), tolerance * most) << name;
  }
}

void expect_training(const json& params, const json& expected) {
  Accelerator accelerator(options_of(params));
  auto network = network_of(params);
  auto [model, optimizer] =
      accelerator.prepare(network, optimizer_of(params["optimizer"], network->parameters()));
  const double tolerance = params.value("tolerance", 2e-6);
  const auto rank = static_cast<std::size_t>(accelerator.process_index());
  const auto kind = params["model"]["kind"] == "mlp" ? torch::kFloat : torch::kLong;
  std::size_t steps = 0;
  for (std::size_t k = 0; k < params["batches"].size(); ++k) {
    const json& batch = params["batches"][k];
    auto scope = accelerator.accumulate(model);
    const torch::Tensor loss =
        model(tensor_of(batch["x"][rank], kind), tensor_of(batch["y"][rank], kind));
    EXPECT_NEAR(loss.item<double>(), expected["losses"][k][rank].get<double>(), tolerance * 5);
    accelerator.backward(loss);
    if (accelerator.sync_gradients()) {
      if (!params["clip_grad_norm"].is_null()) {
        const json& type = params["norm_type"];
        const double norm =
            accelerator
                .clip_grad_norm_(
                    network->parameters(), params["clip_grad_norm"],
                    type == "inf" ? std::numeric_limits<double>::infinity() : type.get<double>())
                .item<double>();
        const double golden = expected["grad_norms"][steps];
        EXPECT_NEAR(norm, golden, std::max(1e-5, tolerance) * golden);
      }
    }
    optimizer.step();
    optimizer.zero_grad();
    if (!accelerator.sync_gradients() || ++steps > 1) continue;
    expect_parameters(accelerator.get_state_dict(model), expected["after_first_step"], tolerance);
  }
  EXPECT_GT(steps, 0u);
  expect_parameters(accelerator.get_state_dict(model), expected["after_last_step"], tolerance);
}

TEST(ShardedTrainingTest, EveryCaseTrainsAsInPython) {
  const json cases = golden_cases("fsdp_training.json");
  for (const int world : {2, 3, 4}) {
    runtime::on_ranks(world, [&] {
      for (const json& one : cases) {
        if (one["params"]["num_processes"] != world) continue;
        SCOPED_TRACE(one["params"].dump().substr(0, 2000));
        expect_training(one["params"], one["expected"]);
      }
    });
  }
}

}  // namespace
}  // namespace accel
