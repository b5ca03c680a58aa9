// The base of tests with shims that outlive their host.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_matchers.h"
#include "shim/host/shim_folder.h"
#include "shim/shim_test_base.h"

namespace accel::shim {

inline const common::JobId kJob("job");
inline constexpr char kBoot[] = "this boot";

// Destroying a host closes its connections exactly as the death of its process would.
class ShimAdoptTest : public ShimTest {
 protected:
  ShimAdoptTest() { NewHost(); }

  // Replaces the host by another one with the same folder, which has not adopted anything yet.
  PosixShimHost::Options HostOptions() const {
    PosixShimHost::Options options;
    options.shim_path = "shim/accel-shim";
    options.shims_dir = shims_dir();
    options.boot_id = kBoot;
    return options;
  }

  void NewHost(const std::string& boot_id = kBoot, absl::Duration adoption_timeout = kTimeout) {
    PosixShimHost::Options options;
    options.shims_dir = shims_dir();
    options.boot_id = boot_id;
    options.shim_slack = kTimeout / 2;  // No shim is killed because the machine is slow.
    options.adoption_timeout = adoption_timeout;
    MakeHost(std::move(options));
  }

  std::string shims_dir() const { return folder() + "/shims"; }

  StartCommand Kept(const std::string& script, int workers = 1) {
    StartCommand start = Script(script, workers);
    start.keep_without_agent = true;
    return start;
  }

  // Adopts, and returns the only report.
  ShimReport AdoptOnly() {
    std::vector<ShimReport> reports = host().Adopt();
    EXPECT_EQ(reports.size(), 1u);
    for (const ShimReport& report : reports) Note(report);
    return reports.empty() ? ShimReport() : reports[0];
  }

  ShimRecord Record() {
    auto folder = ShimFolder::Make(shims_dir(), kJob);
    EXPECT_OK(folder);
    auto record = folder->ReadRecord();
    EXPECT_OK(record);
    return record.value_or(ShimRecord());
  }

  // Writes a record in place of the present one.
  void WriteRecord(const ShimRecord& record) {
    auto folder = ShimFolder::Make(shims_dir(), kJob);
    ASSERT_OK(folder);
    for (int generation = 0; generation < 10; ++generation) {
      std::filesystem::remove(absl::StrCat(shims_dir(), "/job/record.", generation));
    }
    ASSERT_OK(folder->WriteRecord(record));
  }

  void AwaitProcessEnd(pid_t pid) {
    const absl::Time until = absl::Now() + kTimeout;
    while (true) {
      const auto entry = process::ReadProcess(pid);
      if (!entry || entry->zombie()) return;
      ASSERT_LT(absl::Now(), until) << pid << " runs";
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

  void Touch(const std::string& name) { std::ofstream(folder() + "/" + name) << "x"; }

  bool NoFolderIsLeft() { return ShimFolder::List(shims_dir()).empty(); }
};

}  // namespace accel::shim
