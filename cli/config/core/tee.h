// The value of --tee, which is torchrun's.
#pragma once

#include <map>
#include <optional>

#include "absl/strings/string_view.h"

namespace accel::cli {

// The output streams of each local rank whose lines are marked with the role. With --log_dir they
// are also copied into files.
class Tee {
 public:
  Tee() = default;

  // Parses 0 (nothing), 1 (standard output), 2 (standard error) or 3 (both) for all ranks. Also
  // parses a list for single ranks, as in "0:3,1:1"; all other ranks then have nothing. If a rank
  // occurs twice, its last value counts. Returns nullopt for other texts.
  static std::optional<Tee> Parse(absl::string_view text);

  // Returns true if the standard output (`is_stdout`) or the standard error of this local
  // rank is marked.
  bool Has(int local_rank, bool is_stdout) const;
  bool IsEmpty() const { return of_all_ == 0 && of_rank_.empty(); }

 private:
  int of_all_ = 0;
  std::map<int, int> of_rank_;
};

}  // namespace accel::cli
