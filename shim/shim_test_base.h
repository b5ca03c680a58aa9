// The base of tests that run real shims with real workers.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "logs/log_paths.h"
#include "process/process_table.h"
#include "shim/host/posix_shim_host.h"

namespace accel::shim {

// The longest that any test waits.
constexpr absl::Duration kTimeout = absl::Seconds(30);
// Long, because a worker that ends on SIGTERM must not be killed on a machine that is slow.
constexpr absl::Duration kOrphanGrace = absl::Seconds(20);

// One host in a temporary folder. After each test no process may be left that a worker started.
// Such processes are found by a tag in their environment, wherever they have gone.
class ShimTest : public ::testing::Test {
 protected:
  explicit ShimTest(process::CgroupSupport cgroups = {});
  ~ShimTest() override;

  // Returns a start of `workers` times /bin/sh -c `script`, with every worker's rank in RANK.
  StartCommand Script(const std::string& script, int workers = 1);
  StartCommand Command(std::vector<std::string> argv, int workers = 1);

  // Starts the generation, and first the job's shim if it has none.
  void Start(const StartCommand& start);
  // Takes reports until one of `job` satisfies `fits`.
  ShimReport Await(const common::JobId& job, const std::function<bool(const ShimReport&)>& fits);
  // Notes a report that was taken from the host by other means.
  void Note(const ShimReport& report) { last_[report.job] = report; }
  GenerationReport AwaitState(const common::JobId& job, GenerationReport::State state);
  // Starts the generation and waits until it has ended.
  GenerationReport RunToEnd(const StartCommand& start);
  // Ends the shim itself.
  void EndShim(const common::JobId& job);

  // Returns all that a rank printed, with '#' and the number of bytes where some are missing.
  std::string Output(const StartCommand& start, int rank = 0,
                     logs::LogStream stream = logs::LogStream::kStdout);
  // Waits until a rank has printed `text`.
  void AwaitOutput(const StartCommand& start, int rank, const std::string& text);

  // Returns the living processes that workers have started. Zombies do not count.
  std::vector<pid_t> Living() const;
  void AwaitLiving(size_t at_least) const;
  // Waits until a signal has stopped this process.
  void AwaitStopped(pid_t pid) const;

  PosixShimHost& host() { return *host_; }
  // Replaces the host by one with `options`. Must be called before the first start.
  void MakeHost(PosixShimHost::Options options);
  void DestroyHost() { host_.reset(); }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  std::string tag_;
  int starts_ = 0;
  std::unique_ptr<PosixShimHost> host_;
  std::map<common::JobId, ShimReport> last_;
};

// Returns the pid of the only shim among this process's children.
pid_t OnlyShimPid();

}  // namespace accel::shim
