#include "cli/config/core/meeting_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "cli/config/core/read_value.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using accel::testing::StatusIs;
using ::testing::HasSubstr;

using Texts = std::map<std::string, std::string>;

absl::StatusOr<MeetingPlace> Find(const Texts& flags, const Texts& variables = {},
                                  int machines = 4) {
  std::vector<FlagSetting> given;
  for (const auto& [name, text] : flags) {
    const Setting& setting = GetSetting(name);
    given.push_back({&setting, ReadFlagValue(setting, text).value()});
  }
  const EnvLookup env = [&variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  return FindMeetingPlace(EffectiveSettings(std::nullopt, given), env, machines);
}

TEST(MeetingPlace, IsTheAddressOfTheMainProcess) {
  ASSERT_OK_AND_ASSIGN(
      const MeetingPlace place,
      Find({{"main_process_ip", "10.0.0.1"}, {"main_process_port", "4000"}, {"rdzv_id", "a"}}));
  EXPECT_EQ(place.text(), "10.0.0.1:4000");
  EXPECT_EQ(place.machines, 4);
  EXPECT_EQ(place.machine_rank, std::nullopt);
  EXPECT_EQ(place.id, "a");
  EXPECT_FALSE(place.trust_network);
  EXPECT_EQ(place.timeout, absl::Minutes(10));
  EXPECT_TRUE(place.ports.is_any());
}

TEST(MeetingPlace, OrOneEndpoint) {
  struct Row {
    const char* endpoint;
    const char* text;
  };
  for (const Row& row :
       {Row{"h1:4000", "h1:4000"}, Row{"h1", "h1:29500"}, Row{"[fd31::1]", "[fd31::1]:29500"},
        Row{"[fd31::1]:4000", "[fd31::1]:4000"}}) {
    ASSERT_OK_AND_ASSIGN(const MeetingPlace place, Find({{"rdzv_endpoint", row.endpoint}}));
    EXPECT_EQ(place.text(), row.text);
  }
  EXPECT_THAT(Find({{"rdzv_endpoint", "h1:4000"}, {"main_process_ip", "h2"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot be combined")));
}

TEST(MeetingPlace, WrongSettingsAreNamed) {
  for (const auto& [flags, says] : std::vector<std::pair<Texts, std::string>>{
           {{}, "give --main_process_ip and --main_process_port"},
           {{{"main_process_ip", "0.0.0.0"}}, "--main_process_ip is 0.0.0.0"},
           {{{"main_process_ip", "::"}}, "name one machine"},
           {{{"main_process_ip", "h"}, {"main_process_port", "0"}}, "--main_process_port is 0"},
           {{{"main_process_ip", "h"}, {"main_process_port", "65536"}}, "from 1 to 65535"},
           {{{"main_process_ip", std::string(254, 'x')}}, "at most 253 bytes"},
           {{{"rdzv_endpoint", "h:port"}}, "--rdzv_endpoint"},
           {{{"main_process_ip", "h"}, {"rdzv_timeout", "0"}}, "--rdzv_timeout is 0"},
           {{{"main_process_ip", "h"}, {"port_range", "7"}}, "--port_range is 7"},
           {{{"main_process_ip", "h"}, {"rdzv_id", std::string(129, 'x')}}, "--rdzv_id"}}) {
    EXPECT_THAT(Find(flags), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(says)));
  }
}

TEST(MeetingPlace, RankOfTheUserComesFirst) {
  const Texts slurm = {{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}};
  ASSERT_OK_AND_ASSIGN(MeetingPlace place, Find({{"main_process_ip", "h"}}, slurm));
  EXPECT_EQ(place.machine_rank, 3);
  ASSERT_OK_AND_ASSIGN(place, Find({{"main_process_ip", "h"}, {"machine_rank", "0"}}, slurm));
  EXPECT_EQ(place.machine_rank, 0);
}

TEST(MeetingPlace, RanksOfMpiCountOnlyIfThereIsOneProcessForEachMachine) {
  for (const auto& [rank, size] : std::vector<std::pair<std::string, std::string>>{
           {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
           {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
           {"PMI_RANK", "PMI_SIZE"},
           {"SLURM_PROCID", "SLURM_NTASKS"}}) {
    ASSERT_OK_AND_ASSIGN(MeetingPlace place,
                         Find({{"main_process_ip", "h"}}, {{rank, "2"}, {size, "4"}}));
    EXPECT_EQ(place.machine_rank, 2) << rank;
    ASSERT_OK_AND_ASSIGN(place, Find({{"main_process_ip", "h"}}, {{rank, "2"}, {size, "8"}}));
    EXPECT_EQ(place.machine_rank, std::nullopt) << rank;
  }
}

TEST(MeetingPlace, SlurmNamesTheFirstHostAndTheJob) {
  ASSERT_OK_AND_ASSIGN(const MeetingPlace place,
                       Find({}, {{"SLURM_JOB_NODELIST", "n[07-10]"}, {"SLURM_JOB_ID", "42"}}));
  EXPECT_EQ(place.text(), "n07:15294");
  EXPECT_EQ(place.id, "42");
  ASSERT_OK_AND_ASSIGN(
      const MeetingPlace step,
      Find({}, {{"SLURM_JOB_NODELIST", "n7"}, {"SLURM_JOB_ID", "42"}, {"SLURM_STEP_ID", "1"}}));
  EXPECT_EQ(step.text(), "n7:15295");
  EXPECT_EQ(step.id, "42.1");
  // mpirun starts its processes inside and outside of a step.
  ASSERT_OK_AND_ASSIGN(
      const MeetingPlace given,
      Find({{"main_process_ip", "n7"}},
           {{"SLURM_JOB_NODELIST", "n7"}, {"SLURM_JOB_ID", "42"}, {"SLURM_STEP_ID", "1"}}));
  EXPECT_EQ(given.id, "42");
}

TEST(MeetingPlace, AStepOfSlurmCountsMachines) {
  const auto count = [](const Texts& variables) {
    return MachinesOfSlurm([&variables](const std::string& name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
    });
  };
  EXPECT_EQ(count({}).value(), 1);
  // A batch script is no task of srun.
  EXPECT_EQ(count({{"SLURM_JOB_NUM_NODES", "4"}, {"SLURM_PROCID", "0"}}).value(), 1);
  Texts step = {{"SLURM_STEP_NUM_NODES", "4"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  EXPECT_EQ(count(step).value(), 1);
  step["SLURM_PROCID"] = "2";
  EXPECT_EQ(count(step).value(), 4);
  Texts worker = step;
  worker["ACCEL_GENERATION"] = "1";
  EXPECT_EQ(count(worker).value(), 1);
  step["SLURM_STEP_NUM_TASKS"] = "8";
  EXPECT_THAT(count(step),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("8 tasks on 4 nodes")));
}

TEST(MeetingPlace, ListsOfSlurmAreRead) {
  for (const auto& [list, host] :
       std::vector<std::pair<std::string, std::string>>{{"n1", "n1"},
                                                        {"n1,n2", "n1"},
                                                        {"n[07-09,12],gpu1", "n07"},
                                                        {"n[3,5]", "n3"},
                                                        {"rack[1-2].example", "rack1.example"},
                                                        {"a[1-2]-ib,b", "a1-ib"}}) {
    EXPECT_EQ(FirstSlurmHost(list), host) << list;
  }
  for (const char* list : {"", "n[", "n[1-2", "[", "r[1-2]n[1-2]"}) {
    EXPECT_EQ(FirstSlurmHost(list), std::nullopt) << list;
  }
}

}  // namespace
}  // namespace accel::cli
