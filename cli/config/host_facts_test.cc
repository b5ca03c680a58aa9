#include "cli/config/host_facts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

namespace accel::cli {
namespace {

TEST(CountPhysicalCores, CountsThreadsOfOneCoreOnce) {
  const std::string folder = ::testing::TempDir() + "/cpus";
  mkdir(folder.c_str(), 0700);
  const char* const threads[] = {"0,2", "1,3", "0,2", "1,3"};
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string path = folder + "/cpu" + std::to_string(cpu);
    mkdir(path.c_str(), 0700);
    mkdir((path + "/topology").c_str(), 0700);
    std::ofstream(path + "/topology/core_cpus_list") << threads[cpu] << "\n";
  }
  EXPECT_EQ(CountPhysicalCores(folder), 2);
  // An offline CPU has no topology.
  mkdir((folder + "/cpu4").c_str(), 0700);
  mkdir((folder + "/cpu9").c_str(), 0700);
  mkdir((folder + "/cpu9/topology").c_str(), 0700);
  std::ofstream(folder + "/cpu9/topology/core_cpus_list") << "9\n";
  EXPECT_EQ(CountPhysicalCores(folder), 3);
  EXPECT_EQ(CountPhysicalCores("/nonexistent"), 0);
}

}  // namespace
}  // namespace accel::cli
