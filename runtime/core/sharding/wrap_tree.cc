#include "runtime/core/sharding/wrap_tree.h"

#include <map>

namespace accel::runtime {
namespace {

void append_modules(const ModuleTree& tree, std::string name, std::size_t parent, FlatTree& to) {
  const std::size_t at = to.modules.size();
  to.modules.push_back({.tree = &tree, .name = name, .parent = parent, .end = at + 1});
  for (const ModuleTree& child : tree.children) {
    append_modules(child, name.empty() ? child.name : name + "." + child.name, at, to);
  }
  to.modules[at].end = to.modules.size();
}

}  // namespace

std::vector<std::string> class_names_of(std::string_view type) {
  constexpr std::string_view kImpl = "Impl";
  // A template's arguments may have colons too.
  const std::size_t colon = type.substr(0, type.find('<')).rfind("::");
  const std::string_view plain = colon == std::string_view::npos ? type : type.substr(colon + 2);
  std::vector<std::string> names;
  if (plain.size() > kImpl.size() && plain.ends_with(kImpl)) {
    names.emplace_back(plain.substr(0, plain.size() - kImpl.size()));
  }
  names.emplace_back(plain);
  if (plain != type) names.emplace_back(type);
  return names;
}

ModuleKind kind_of_class(std::string_view name) {
  if (name == "ModuleList" || name == "ModuleDict") return ModuleKind::kContainer;
  return name == "MultiheadAttention" ? ModuleKind::kWhole : ModuleKind::kLayer;
}

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements;
}

FlatTree::FlatTree(const ModuleTree& root) {
  append_modules(root, "", 0, *this);
  std::map<std::uint64_t, std::size_t> shared;
  for (std::size_t module = 0; module < modules.size(); ++module) {
    parameters_begin.push_back(parameters.size());
    const FlatModule& owner = modules[module];
    for (const TreeParameter& parameter : owner.tree->parameters) {
      std::size_t tensor = tensors;
      if (parameter.shared_id != 0) {
        tensor = shared.emplace(parameter.shared_id, tensors).first->second;
      }
      if (tensor == tensors) ++tensors;
      parameters.push_back(
          {.tree = &parameter,
           .name = owner.name.empty() ? parameter.name : owner.name + "." + parameter.name,
           .module = module,
           .tensor = tensor});
    }
  }
  parameters_begin.push_back(parameters.size());
}

}  // namespace accel::runtime
