// Starts processes of this test program without loading it again.
//
// Loading LibTorch takes half a second of processor time, which is most of what a rank of a small
// test computes. So a server (a "zygote") is started once: this program, which stops before main().
// For each process it forks itself, and the child continues to main() with its own argument and
// environment. The server has one thread and has called nothing of LibTorch, so the child is like a
// program that has just been started, except that its addresses are those of the server.
//
// Not thread-safe.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "common/unique_fd.h"

namespace accel::runtime {

using Variables = std::map<std::string, std::string>;

class ForkServer {
 public:
  // `environment` applies to what is read while libraries are loaded: OMP_NUM_THREADS, for example.
  explicit ForkServer(Variables environment);
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;
  ~ForkServer();

  // Starts a process with one argument. It has the environment given here, and the working
  // directory and the open files of the server.
  pid_t start(const std::string& argument, const Variables& environment);

  // Blocks until a process of this server has ended. Returns its wait status.
  int wait(pid_t pid);

 private:
  pid_t pid_ = -1;
  common::UniqueFd socket_;
};

}  // namespace accel::runtime
