#include "cli/report/python_packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace accel::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(PackageVersions, ReadsFolderNames) {
  const std::string venv = ::testing::TempDir() + "/venv";
  const std::string packages = venv + "/lib/python3.11/site-packages";
  for (const char* name : {"torch-2.11.0+cu130.dist-info", "nvidia_nccl_cu13-2.28.9.dist-info",
                           "requests-2.0.dist-info", "torch", "numpy-2.4.1.dist-info"}) {
    std::filesystem::create_directories(packages + "/" + name);
  }
  std::ofstream(venv + "/pyvenv.cfg") << "home = /usr/bin\nversion = 3.11.2\n";
  EXPECT_THAT(PackageVersions(venv + "/bin/python"),
              ElementsAre(Pair("numpy", "2.4.1"), Pair("nvidia_nccl_cu13", "2.28.9"),
                          Pair("torch", "2.11.0+cu130")));
  EXPECT_EQ(VenvPythonVersion(venv + "/bin/python"), "3.11.2");
  EXPECT_THAT(PackageVersions("/nonexistent/bin/python"), IsEmpty());
}

}  // namespace
}  // namespace accel::cli
