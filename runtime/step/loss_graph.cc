#include "runtime/step/loss_graph.h"

#include <algorithm>

#include "runtime/core/reached_models.h"
#include "runtime/parallel/model_tensors.h"

namespace accel::runtime {

LossGraph::LossGraph(const at::Tensor& loss, const Strategies& prepared)
    : loss_(loss), prepared_(prepared) {
  std::vector<std::vector<ParameterId>> parameters;
  for (const auto& model : prepared) {
    model->follow_changes();
    if (prepared.size() > 1) parameters.push_back(model->trained());
  }
  const std::vector<bool> sharing = sharing_models(parameters);
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    prepared[i]->set_shares_parameters(i < sharing.size() && sharing[i]);
  }
  if (std::find(sharing.begin(), sharing.end(), true) == sharing.end()) return;
  reached_.emplace(prepared.size());
  for (const std::size_t i : reached_models(parameters, nodes_behind(loss))) (*reached_)[i] = true;
}

bool LossGraph::reaches(std::size_t i) const {
  return reached_ ? (*reached_)[i] : prepared_[i]->is_reached_from(loss_);
}

}  // namespace accel::runtime
