// Trains a small transformer to write like the King James Bible, character by character, on one
// process or many. If it is killed and started again, it resumes from its last checkpoint:
//
//   char_transformer --project DIR [--steps N] [--text FILE] ...
//   accel launch --cpu --num_processes 2 --max_restarts 3 char_transformer --project DIR
#include "examples/char_transformer.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "accel/logger.h"
#include "accel/optim.h"
#include "examples/bible_text.h"

namespace F = torch::nn::functional;
using examples::Characters, examples::Windows, torch::data::Example;

namespace {

struct Flags {
  std::string project, text = "/usr/lib/bible.data";
  std::int64_t steps = 2000, save_every = 100, eval_every = 500, batch_size = 16;
  int accumulate = 1;
  double lr = 6e-3;
  bool shard = false;
  examples::TransformerOptions model;
};

Flags parse(int argc, char** argv) {
  Flags flags;
  CLI::App app("Trains a transformer on the characters of a text.");
  app.option_defaults()->always_capture_default();
  app.add_option("--project", flags.project, "folder of checkpoints and metrics")->required();
  app.add_option("--text", flags.text, "the text, plain or as bible-kjv-text has it");
  app.add_option("--steps", flags.steps, "optimizer steps in all");
  app.add_option("--save_every", flags.save_every, "steps between checkpoints");
  app.add_option("--eval_every", flags.eval_every, "steps between evaluations");
  app.add_option("--batch_size", flags.batch_size, "windows per process and batch");
  app.add_option("--accumulate", flags.accumulate, "batches per step");
  app.add_option("--lr", flags.lr, "highest learning rate");
  app.add_option("--context", flags.model.context, "characters per window");
  app.add_option("--width", flags.model.width, "of the model");
  app.add_option("--blocks", flags.model.blocks, "of the model");
  app.add_flag("--shard", flags.shard, "each process holds a part of the model");
  app.add_flag("--recompute", flags.model.recompute, "backward computes activations again");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return flags;
}

// The progress of training, which is a part of each checkpoint.
struct Progress {
  void save(torch::serialize::OutputArchive& archive) const {
    archive.write("step", torch::IValue(step));
  }
  void load(torch::serialize::InputArchive& archive) {
    torch::IValue value;
    archive.read("step", value);
    step = value.toInt();
  }
  std::int64_t step = 0;
};

using Model = accel::Model<examples::Transformer>;
using Loader = accel::AnyLoader<Example<>>;

torch::Tensor loss_of(Model& model, const Example<>& batch,
                      F::CrossEntropyFuncOptions options = {}) {
  return F::cross_entropy(model(batch.data).transpose(1, 2), batch.target, options);
}

// Returns the mean loss over all windows of the loader, in nats per character.
double evaluate(accel::Accelerator& accelerator, Model& model, Loader& loader) {
  torch::NoGradGuard no_grad;
  model->eval();
  double sum = 0;
  std::int64_t windows = 0;
  for (auto& batch : loader) {
    auto each = loss_of(model, batch, F::CrossEntropyFuncOptions().reduction(torch::kNone)).mean(1);
    each = accelerator.gather_for_metrics(each);
    sum += each.sum().item<double>();
    windows += each.size(0);
  }
  model->train();
  return sum / static_cast<double>(windows);
}

// Continues `text` until it has as many characters as the context.
std::string write_on(Model& model, const Characters& characters, std::string text,
                     std::int64_t context) {
  torch::NoGradGuard no_grad;
  model->eval();
  const auto device = model->parameters().front().device();
  while (static_cast<std::int64_t>(text.size()) < context) {
    const auto logits = model(characters.encode(text).unsqueeze(0).to(device));
    const auto next = torch::multinomial(logits[0][-1].softmax(0), 1);
    text += characters.alphabet[static_cast<std::size_t>(next.item<std::int64_t>())];
  }
  return text;
}

// Trains from `progress` to the last step.
void run(accel::Accelerator& accelerator, const Flags& flags, Progress& progress, Model model,
         accel::OptimizerRef optimizer, accel::Scheduler scheduler, Loader loader,
         Loader test_loader) {
  while (progress.step < flags.steps) {
    for (auto& batch : loader) {
      auto window = accelerator.accumulate(model);
      const auto loss = loss_of(model, batch);
      accelerator.backward(loss);
      if (accelerator.sync_gradients()) accelerator.clip_grad_norm_(model->parameters(), 1.0);
      optimizer.step();
      scheduler.step();
      optimizer.zero_grad();
      if (!accelerator.sync_gradients()) continue;

      const std::int64_t step = ++progress.step;
      if (step % 10 == 0) {
        const auto mean = accelerator.reduce(loss, torch::kMean);
        accelerator.log({{"train/loss", mean.item<double>()}, {"lr", scheduler.get_last_lr()[0]}},
                        step);
      }
      if (step % flags.save_every == 0) accelerator.save_state();
      if (step % flags.eval_every == 0 || step == flags.steps) {
        const double test_loss = evaluate(accelerator, model, test_loader);
        accelerator.log({{"test/loss", test_loss}}, step);
        accelerator.print("step ", step, ": test loss ", test_loss);
      }
      if (step == flags.steps) break;
    }
  }
}

void train(const Flags& flags) {
  std::optional<accel::ShardingOptions> sharding;
  if (flags.shard) {
    sharding = {.auto_wrap_policy = accel::WrapPolicy::kTransformerBased,
                .transformer_layer_cls_to_wrap = {"Block"}};
  }
  accel::Accelerator accelerator({.gradient_accumulation = {.num_steps = flags.accumulate},
                                  .scheduler_unit = accel::SchedulerUnit::kOptimizerSteps,
                                  .sharding = sharding,
                                  .project = {.project_dir = flags.project,
                                              .automatic_checkpoint_naming = true,
                                              .total_limit = 2},
                                  .log_with = {"tensorboard", "jsonl"}});
  const accel::Logger logger = accel::get_logger("char_transformer");
  torch::manual_seed(1611);

  const Characters characters(examples::read_bible(flags.text));
  const auto windows = [&](std::int64_t begin, std::int64_t end) {
    return Windows(characters.indices.slice(0, begin, end), flags.model.context)
        .map(torch::data::transforms::Stack<>());
  };
  const std::int64_t size = characters.indices.size(0), test_begin = size - size / 50;
  auto options = flags.model;
  options.vocabulary = static_cast<std::int64_t>(characters.alphabet.size());
  examples::Transformer net(options);
  auto adamw = std::make_shared<accel::optim::AdamW>(net->parameters(), flags.lr);
  auto [model, optimizer, scheduler, loader, test_loader] = accelerator.prepare(
      net, adamw, accel::Scheduler(adamw, accel::cosine_schedule(flags.steps / 20, flags.steps)),
      accel::make_data_loader(windows(0, test_begin), flags.batch_size),
      accel::make_data_loader<torch::data::samplers::SequentialSampler>(windows(test_begin, size),
                                                                        128));

  Progress progress;
  accelerator.register_for_checkpointing(progress);
  if (accelerator.resume_from_newest())
    logger.info("resumed at step " + std::to_string(progress.step));
  accelerator.init_trackers(
      "bible", {{"lr", flags.lr}, {"width", options.width}, {"blocks", options.blocks}});
  run(accelerator, flags, progress, model, optimizer, scheduler, loader, test_loader);
  // On all processes, because each may hold a part of the model.
  accelerator.print(write_on(model, characters, "And God said, ", options.context));
  accelerator.end_training();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(parse(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "char_transformer: " << error.what() << std::endl;
    return 1;
  }
}
