#include "accel/accelerator.h"
#include "runtime/checkpoint/durable_file.h"
#include "runtime/checkpoint/tensor_file.h"
#include "runtime/checkpoint/weights.h"

namespace accel {

torch::OrderedDict<std::string, torch::Tensor> Accelerator::state_dict_of(
    const torch::nn::Module& module) {
  torch::OrderedDict<std::string, torch::Tensor> state("Tensor");
  for (auto& [name, tensor] : state_of(module)) state.insert(name, tensor);
  return state;
}

void Accelerator::save_object(const std::string& path, const SaveOptions& options,
                              const std::function<void(std::ostream&)>& write) const {
  const auto save = [&] {
    std::ostringstream out;
    write(out);
    const std::string bytes = std::move(out).str();
    replace_durably(path, {bytes});
  };
  options.save_on_each_node ? (void)on_local_main_process(save) : (void)on_main_process(save);
}

void Accelerator::save_module(const torch::nn::Module& module, const std::string& folder,
                              ByteSize max_shard_size) const {
  const auto operation = begin_operation("save_model");
  checkpointer_->on_main([&] { save_weights(module, folder, max_shard_size); });
}

void Accelerator::load_module(torch::nn::Module& module, const std::string& path,
                              bool strict) const {
  const auto operation = begin_operation("load_checkpoint_in_model");
  checkpointer_->on_every_rank([&] { WeightsLoad(module, path, strict).run(); });
}

void Accelerator::save_state(const std::string& folder) {
  const auto operation = begin_operation("save_state");
  if (scaler_ != nullptr && !sync_gradients()) scaler_->settle();
  if (use_distributed()) parameter_check_->begin_save(*state_->communicator);
  checkpointer_->save(folder);
}

void Accelerator::wait_for_save() {
  const auto operation = begin_operation("wait_for_save");
  checkpointer_->wait();
}

void Accelerator::load_state(const std::string& folder) {
  const auto operation = begin_operation("load_state");
  checkpointer_->load(folder, /*required=*/true);
}

void Accelerator::register_save_state_pre_hook(CheckpointHook hook) {
  checkpointer_->add_save_hook(std::move(hook));
}

void Accelerator::register_load_state_pre_hook(CheckpointHook hook) {
  checkpointer_->add_load_hook(std::move(hook));
}

bool Accelerator::resume_from_newest() {
  const auto operation = begin_operation("resume_from_newest");
  const bool resumed = checkpointer_->load("", /*required=*/false);
  checkpointer_->expect_saves();
  return resumed;
}

void Accelerator::end_training() {
  wait_for_save();
  finish_trackers();
}

}  // namespace accel
