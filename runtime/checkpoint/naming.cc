#include "runtime/checkpoint/naming.h"

#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/checkpoint/folder_paths.h"
#include "runtime/core/checkpoint_layout.h"

namespace accel::runtime {
namespace fs = std::filesystem;

AutomaticNaming::AutomaticNaming(ProjectConfiguration project) : project_(std::move(project)) {
  if (project_.total_limit == std::size_t{0}) {
    throw std::invalid_argument("total_limit of 0 keeps no checkpoint: at least 1, or none");
  }
}

fs::path AutomaticNaming::parent() const {
  if (!project_.automatic_checkpoint_naming || project_.project_dir.empty()) {
    throw std::invalid_argument(
        "without a folder, save_state() and load_state() need project.project_dir and "
        "project.automatic_checkpoint_naming");
  }
  return fs::path(project_.project_dir) / "checkpoints";
}

fs::path AutomaticNaming::folder(std::uint64_t number) const {
  return parent() / checkpoint_name(number);
}

void AutomaticNaming::set_next_number(std::uint64_t number) {
  project_.iteration = number;
  is_settled_ = true;
}

void AutomaticNaming::skip_existing() {
  const fs::path next = folder(next_number());
  if (fs::exists(next)) {
    throw std::invalid_argument("Checkpoint directory " + next.string() + " (" +
                                std::to_string(next_number()) +
                                ") already exists. Load it first, or set project.iteration to a "
                                "number that is free.");
  }
  if (is_settled_) return;
  const std::uint64_t free = next_checkpoint_number(names_in(parent()));
  if (free <= next_number()) return;
  std::cerr << "accel: " << parent().string() << " has checkpoints already: the first"
            << " of this run is " << checkpoint_name(free) << std::endl;
  project_.iteration = free;
}

std::uint64_t AutomaticNaming::number_after(std::uint64_t saved_next) const {
  if (!project_.automatic_checkpoint_naming) return saved_next;
  return std::max(saved_next, next_checkpoint_number(names_in(parent())));
}

}  // namespace accel::runtime
