// The modules of a model without their tensors. The choice of units depends on nothing else. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace accel::runtime {

struct TreeParameter {
  std::string name;  // In its module, such as "weight".
  std::vector<std::int64_t> shape;
  std::string dtype = "float32";
  bool requires_grad = true;
  // Equal for two names of one tensor. 0: this name is the only one.
  std::uint64_t shared_id = 0;
};

enum class ModuleKind {
  kLayer,
  kContainer,  // ModuleList, ModuleDict: modules without a forward pass. Never a unit by size.
  kWhole       // MultiheadAttention: version 1 chooses neither it nor a module inside it by size.
};

struct ModuleTree {
  std::string name;                  // In its parent; empty for the root.
  std::vector<std::string> classes;  // The module's class and the known bases of it, at least one.
  ModuleKind kind = ModuleKind::kLayer;
  std::vector<TreeParameter> parameters;
  std::vector<ModuleTree> children;
};

// Returns the class names that a user may give for a C++ type: "torch::nn::LinearImpl" gives
// "Linear", "LinearImpl" and the name itself.
std::vector<std::string> class_names_of(std::string_view type);

// Returns the kind of a module of the class `name`, which has neither a namespace nor "Impl".
ModuleKind kind_of_class(std::string_view name);

// Returns the number of elements of a shape; 1 for a scalar. Does not check for overflow.
std::int64_t elements_of(const std::vector<std::int64_t>& shape);

// A module or a parameter in the list of all of them.
struct FlatModule {
  const ModuleTree* tree;
  std::string name;    // From the root, such as "layers.0".
  std::size_t parent;  // Position of the parent; that of itself for the root.
  std::size_t end;     // One more than the position of the last module below it.
};
struct FlatParameter {
  const TreeParameter* tree;
  std::string name;    // From the root, such as "layers.0.weight".
  std::size_t module;  // Position of its module.
  std::size_t tensor;  // Number of its tensor: equal for two names of one tensor.
};

// Lists in the order of Python's named_modules() and named_parameters(): parents first. Refers to
// `root`, which must outlive the lists.
struct FlatTree {
  explicit FlatTree(const ModuleTree& root);

  std::vector<FlatModule> modules;
  std::vector<FlatParameter> parameters;
  std::size_t tensors = 0;                    // Number of different tensors.
  std::vector<std::size_t> parameters_begin;  // For each module, its first own parameter.
};

}  // namespace accel::runtime
