#include "agent/host_shutdown.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "common/clock.h"

namespace accel::agent {
namespace {

// Returns paths at which systemctl is a script with these lines.
SystemdPaths Systemctl(const std::string& lines) {
  const std::string dir = std::getenv("TEST_TMPDIR");
  SystemdPaths paths;
  paths.running = dir;
  paths.systemctl = dir + "/systemctl";
  std::ofstream(paths.systemctl) << "#!/bin/sh\n" << lines << "\n";
  ::chmod(paths.systemctl.c_str(), 0700);
  paths.longest = absl::Minutes(1);  // The shell may stand still for some seconds.
  return paths;
}

TEST(HostShutdown, SystemdSaysSo) {
  EXPECT_TRUE(
      HostIsShuttingDown(Systemctl("test $1 = is-system-running && echo stopping; exit 1")));
}

TEST(HostShutdown, AHostThatRunsIsNotShuttingDown) {
  for (const char* state : {"running", "degraded", "starting", "offline", "stopping soon", ""}) {
    EXPECT_FALSE(HostIsShuttingDown(Systemctl(std::string("echo ") + state))) << state;
  }
}

TEST(HostShutdown, WithoutSystemdOrItsAnswerItIsNot) {
  SystemdPaths paths = Systemctl("echo stopping");
  paths.running += "/missing";
  EXPECT_FALSE(HostIsShuttingDown(paths));
  paths = Systemctl("echo stopping");
  paths.systemctl += "-missing";
  EXPECT_FALSE(HostIsShuttingDown(paths));
}

TEST(HostShutdown, AnAnswerThatNeverComesIsNotAwaited) {
  SystemdPaths paths = Systemctl("exec sleep 600");
  paths.longest = absl::Milliseconds(50);
  const absl::Time begin = common::SteadyClock()->Now();
  EXPECT_FALSE(HostIsShuttingDown(paths));
  EXPECT_LT(common::SteadyClock()->Now() - begin, absl::Seconds(20));
}

}  // namespace
}  // namespace accel::agent
