// The value of --tee, which is torchrun's.
#pragma once

#include <map>
#include <optional>

#include "absl/strings/string_view.h"

namespace accel::cli {

// Says of which local ranks which output is marked with the role and, with --log_dir, copied into
// files.
class Tee {
 public:
  Tee() = default;

  // Reads 0 (nothing), 1 (standard output), 2 (standard error) or 3 (both), for all ranks, or such
  // for some, as in "0:3,1:1". Other ranks have nothing then. If a rank is named twice, the last
  // one counts. Returns nullopt for other texts.
  static std::optional<Tee> Parse(absl::string_view text);

  // Returns true if the standard output of this local rank is marked, or its standard error.
  bool Has(int local_rank, bool is_stdout) const;
  bool IsEmpty() const { return of_all_ == 0 && of_rank_.empty(); }

 private:
  int of_all_ = 0;
  std::map<int, int> of_rank_;
};

}  // namespace accel::cli
