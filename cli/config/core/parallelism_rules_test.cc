#include "cli/config/core/parallelism_rules.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Checks sizes such as "tp_size: 2\n" below parallelism_config, from line 3 on.
absl::Status Check(const std::string& sizes, std::optional<int64_t> processes) {
  std::string text = "distributed_type: FSDP\nparallelism_config:\n";
  for (absl::string_view rest = sizes; !rest.empty();) {
    const size_t end = rest.find('\n') + 1;
    absl::StrAppend(&text, "  parallelism_config_", rest.substr(0, end));
    rest.remove_prefix(end);
  }
  auto file = ReadConfig("f", text);
  if (!file.ok()) return file.status();
  return CheckParallelism(EffectiveSettings(*std::move(file), {}), processes);
}

TEST(CheckParallelism, TheProductIsTheNumberOfProcesses) {
  EXPECT_OK(Check("dp_shard_size: 4\ntp_size: 2\n", 8));
  EXPECT_OK(Check("dp_shard_size: 4\n", std::nullopt));
  EXPECT_OK(Check("dp_shard_size: 1\n", 8));  // Replicas.
  EXPECT_THAT(Check("cp_size: 1\ndp_shard_size: 4\ntp_size: 3\n", 8),
              StatusIs(kInvalid,
                       "f:4:3: parallelism_config_dp_shard_size: the sizes of parallelism_config "
                       "make 12 processes (dp_shard_size 4 × tp_size 3), and num_processes is 8; "
                       "change one of them"));
  EXPECT_THAT(Check("dp_shard_size: 9000000\ntp_size: 9000000\ncp_size: 9000000\n", 8),
              StatusIs(kInvalid, HasSubstr("make too many processes")));
}

TEST(CheckParallelism, NamesWhatExcludesEachOther) {
  EXPECT_THAT(Check("tp_size: 0\n", 8),
              StatusIs(kInvalid,
                       "f:3:3: parallelism_config_tp_size is 0: it must be a number from "
                       "1 to 10000000"));
  EXPECT_THAT(Check("cp_size: 2\nsp_size: 4\n", 8),
              StatusIs(kInvalid, HasSubstr("f:4:3: parallelism_config_sp_size is 4: sequence")));
  EXPECT_THAT(Check("dp_replicate_size: 4\ntp_size: 2\n", 8),
              StatusIs(kInvalid, HasSubstr("need shards, not only replicas")));
}

}  // namespace
}  // namespace accel::cli
