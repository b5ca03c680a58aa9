// The models that a backward pass belongs to. Each prepared model reduces its gradients in a
// pass that depends on it. But a loss knows only parameters, not models. If models share
// parameters, a loss of one model also reaches parameters of the other. The other must not start
// a reduction, because the gradients of its remaining parameters would never arrive. In these
// examples, each letter is a parameter: model tux has the parameters t, u and x, and a loss tux
// reaches these three.
//
// clang-format off
//   models                  loss    chosen   because
//   A = tux, B = tuy        tux     A        only A has x
//   A = tux, B = tuy        tuxy    A, B     x and y: a loss of both
//   A = tuh, B = tu         tu      B        B is reached completely, A lacks h
// clang-format on
//
// Rule 1 chooses the models with a reached parameter that no other model has, because the loss
// must be theirs. Rule 2 assigns each reached parameter that is still in no chosen model to the
// model that is reached most completely. That is the best guess, because a forward pass usually
// uses all parameters of its model. All ranks choose alike, because they hold the same models in
// the same order.
#include "runtime/core/reached_models.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace accel::runtime {

std::vector<bool> sharing_models(const std::vector<std::vector<ParameterId>>& models) {
  std::vector<bool> sharing(models.size(), false);
  std::unordered_map<ParameterId, std::size_t> first;
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (const ParameterId parameter : models[i]) {
      const auto [known, is_new] = first.try_emplace(parameter, i);
      if (!is_new) sharing[i] = sharing[known->second] = true;
    }
  }
  return sharing;
}

std::vector<std::size_t> reached_models(const std::vector<std::vector<ParameterId>>& models,
                                        const std::unordered_set<ParameterId>& reached) {
  std::unordered_map<ParameterId, std::vector<std::size_t>> having;  // The models with a parameter.
  std::vector<std::size_t> not_reached(models.size(), 0);
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (const ParameterId parameter : models[i]) {
      having[parameter].push_back(i);
      if (!reached.contains(parameter)) ++not_reached[i];
    }
  }
  std::set<std::size_t> chosen;
  for (const auto& [parameter, owners] : having) {
    if (owners.size() == 1 && reached.contains(parameter)) chosen.insert(owners.front());
  }
  // In the order of the models, because the order of the ids differs between the ranks.
  for (const auto& model : models) {
    for (const ParameterId parameter : model) {
      const std::vector<std::size_t>& owners = having[parameter];
      const bool is_covered = std::any_of(owners.begin(), owners.end(),
                                          [&](std::size_t i) { return chosen.contains(i); });
      if (is_covered || !reached.contains(parameter)) continue;
      chosen.insert(*std::min_element(owners.begin(), owners.end(), [&](auto one, auto other) {
        return not_reached[one] < not_reached[other];
      }));
    }
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace accel::runtime
