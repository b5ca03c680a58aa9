// Fine-tunes a BERT of Hugging Face's Transformers to classify sentences, on one process or many,
// and saves it for Transformers. With --shard, or as `accel launch --use_fsdp` says, each process
// reads, holds and trains its own part of the model:
//
//   bert --model FOLDER [--data FILE] [--save FOLDER] [--steps N] ...
//   accel launch --cpu --num_processes 2 bert --model FOLDER --shard
//
// FOLDER has config.json and model.safetensors, as save_pretrained() writes them.
#include "examples/bert.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "accel/optim.h"
#include "accel/without_memory.h"
#include "examples/bert_sentences.h"

namespace F = torch::nn::functional;
using examples::BertConfig, examples::Sentence, torch::data::Example;

namespace {

struct Flags {
  std::string model, weights, data, test, save, logits, state;
  std::int64_t labels = 0, steps = 200, log_every = 10, batch_size = 16;
  double lr = 5e-5, max_norm = 1;
  std::uint64_t seed = 42;
  bool shard = false, recompute = false;
};

Flags parse(int argc, char** argv) {
  Flags flags;
  CLI::App app("Fine-tunes a BERT of Hugging Face's Transformers to classify sentences.");
  app.option_defaults()->always_capture_default();
  app.add_option("--model", flags.model, "folder with config.json and model.safetensors")
      ->required();
  app.add_option("--weights", flags.weights,
                 "weights other than those in --model: of accel or of Python's FSDP, in parts");
  app.add_option("--data", flags.data, "a label and tokens per line; none: made-up sentences");
  app.add_option("--labels", flags.labels, "number of labels; 0: as config.json says");
  app.add_option("--test", flags.test, "the same, to test with; none: those of --data");
  app.add_option("--save", flags.save, "folder for the trained model");
  app.add_option("--logits", flags.logits, "file for the logits of the test's sentences");
  app.add_option("--state", flags.state, "folder for a checkpoint of the training at its end");
  app.add_option("--steps", flags.steps, "optimizer steps in all");
  app.add_option("--log_every", flags.log_every, "steps between two lines of losses")
      ->check(CLI::PositiveNumber);
  app.add_option("--batch_size", flags.batch_size, "sentences per process and step");
  app.add_option("--lr", flags.lr, "learning rate of the first step, which falls to 0");
  app.add_option("--max_norm", flags.max_norm, "of the gradients");
  app.add_option("--seed", flags.seed, "of everything random");
  app.add_flag("--shard", flags.shard, "each process holds a part of the model");
  app.add_flag("--recompute", flags.recompute, "backward computes activations again");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return flags;
}

using Net = examples::BertForSequenceClassification;
using Model = accel::Model<Net>;
using Loader = accel::AnyLoader<Example<>>;

// Sentences in the form that the model takes. All get the length of the longest one.
class Sentences : public torch::data::datasets::Dataset<Sentences> {
 public:
  explicit Sentences(const std::vector<Sentence>& sentences) {
    std::size_t longest = 0;
    for (const Sentence& one : sentences) longest = std::max(longest, one.tokens.size());
    const auto count = static_cast<std::int64_t>(sentences.size());
    sentences_ = torch::zeros({count, 2, static_cast<std::int64_t>(longest)}, torch::kLong);
    sentences_.select(1, 1).fill_(-1);
    labels_ = torch::empty({count}, torch::kLong);
    for (std::int64_t i = 0; i < count; ++i) {
      const Sentence& one = sentences[static_cast<std::size_t>(i)];
      const auto length = static_cast<std::int64_t>(one.tokens.size());
      sentences_[i][0].narrow(0, 0, length).copy_(torch::tensor(one.tokens, torch::kLong));
      sentences_[i][1].narrow(0, 0, length).copy_(torch::tensor(one.segments, torch::kLong));
      labels_[i] = one.label;
    }
  }

  Example<> get(std::size_t index) override {
    const auto i = static_cast<std::int64_t>(index);
    return {sentences_[i], labels_[i]};
  }
  std::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(labels_.size(0));
  }

 private:
  torch::Tensor sentences_, labels_;
};

std::string listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Returns the model without memory. If the folder has no head, as a pretrained model has
// none, the head has memory. Prints the tensors that only the folder has. Throws if the
// folder lacks a tensor.
Net build(const accel::Accelerator& accelerator, const Flags& flags, const BertConfig& config) {
  Net net = accel::without_memory([&] { return Net(config); });
  if (!flags.weights.empty()) return net;
  std::set<std::string> unused = examples::names_of_weights(flags.model), missing;
  for (const auto& item : net->named_parameters()) {
    if (unused.erase(item.key()) == 0) missing.insert(item.key());
  }
  if (!unused.empty()) accelerator.print("not used: ", listed(unused));
  if (missing == std::set<std::string>{"classifier.bias", "classifier.weight"}) {
    accelerator.print("new: ", listed(missing));
    net->begin_classifier(config);
  } else if (!missing.empty()) {
    throw std::runtime_error(flags.model + ": its model lacks " + listed(missing));
  }
  return net;
}

// Prints the mean loss and the accuracy over all sentences, and writes their logits if asked to.
void evaluate(accel::Accelerator& accelerator, Model model, Loader loader, const std::string& when,
              const std::string& file) {
  torch::NoGradGuard no_grad;
  model->eval();
  std::vector<torch::Tensor> logits, labels;
  for (auto& batch : loader) {
    auto [guesses, targets] = accelerator.gather_for_metrics(model(batch.data), batch.target);
    logits.push_back(guesses.cpu());
    labels.push_back(targets.cpu());
  }
  model->train();
  const torch::Tensor all = torch::cat(logits), right = torch::cat(labels);
  accelerator.print(when, ": loss ", F::cross_entropy(all, right).item<double>(), ", accuracy ",
                    all.argmax(1).eq(right).to(torch::kDouble).mean().item<double>(), " (",
                    right.size(0), " sentences)");
  if (file.empty() || !accelerator.is_main_process()) return;
  std::ofstream out(file);
  out.precision(9);
  for (std::int64_t i = 0; i < all.size(0); ++i) {
    for (std::int64_t k = 0; k < all.size(1); ++k) {
      out << (k == 0 ? "" : " ") << all[i][k].item<double>();
    }
    out << '\n';
  }
  if (!out.flush()) throw std::runtime_error(file + ": cannot be written");
}

void run(accel::Accelerator& accelerator, const Flags& flags, Model model,
         accel::OptimizerRef optimizer, accel::Scheduler scheduler, Loader loader) {
  for (std::int64_t step = 0; step < flags.steps;) {
    for (auto& batch : loader) {
      const auto loss = F::cross_entropy(model(batch.data), batch.target);
      accelerator.backward(loss);
      accelerator.clip_grad_norm_(model->parameters(), flags.max_norm);
      optimizer.step();
      scheduler.step();
      optimizer.zero_grad();
      if (++step % flags.log_every == 0) {
        const auto mean = accelerator.reduce(loss.detach(), torch::kMean);
        accelerator.print("step ", step, ": loss ", mean.item<double>());
      }
      if (step == flags.steps) break;
    }
  }
}

void train(const Flags& flags) {
  std::optional<accel::ShardingOptions> sharding;
  if (flags.shard) {
    sharding = {.auto_wrap_policy = accel::WrapPolicy::kTransformerBased,
                .transformer_layer_cls_to_wrap = {"BertLayer"}};
  }
  accel::Accelerator accelerator(
      {.scheduler_unit = accel::SchedulerUnit::kOptimizerSteps, .sharding = sharding});
  accelerator.set_seed(flags.seed, /*device_specific=*/true);

  BertConfig config = examples::read_bert_config(flags.model);
  if (flags.labels > 0) config.num_labels = flags.labels;
  const auto sentences = [&](const std::string& file, std::uint64_t seed) {
    return Sentences(file.empty() ? examples::made_sentences(512, seed, config)
                                  : examples::read_sentences(file, config))
        .map(torch::data::transforms::Stack<>());
  };
  Net net = build(accelerator, flags, config);
  net->bert->encoder->recomputes = flags.recompute;
  auto adamw = std::make_shared<accel::optim::AdamW>(net->parameters(), flags.lr);
  const std::string test = flags.test.empty() ? flags.data : flags.test;
  auto [model, optimizer, scheduler, loader, test_loader] = accelerator.prepare(
      net, adamw, accel::Scheduler(adamw, accel::linear_schedule(0, flags.steps)),
      accel::make_data_loader(sentences(flags.data, flags.seed), flags.batch_size),
      accel::make_data_loader<torch::data::samplers::SequentialSampler>(
          sentences(test, flags.seed + 1), flags.batch_size));
  accelerator.print_sharding(model);
  if (flags.weights.empty()) {
    accelerator.load_checkpoint_in_model(model, flags.model, /*strict=*/false);
  } else {
    accelerator.load_checkpoint_in_model(model, flags.weights);
  }

  evaluate(accelerator, model, test_loader, "before", flags.steps == 0 ? flags.logits : "");
  if (flags.steps > 0) {
    run(accelerator, flags, model, optimizer, scheduler, loader);
    evaluate(accelerator, model, test_loader, "after", flags.logits);
  }
  if (!flags.state.empty()) accelerator.save_state(flags.state);
  if (!flags.save.empty()) {
    accelerator.save_model(model, flags.save);
    accelerator.on_main_process(
        [&] { examples::write_bert_config(flags.model, flags.save, config.num_labels); });
  }
  accelerator.end_training();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(parse(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "bert: " << error.what() << std::endl;
    return 1;
  }
}
