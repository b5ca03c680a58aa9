// A store server in a child process: a program that prints its port and serves until its standard
// input ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "common/unique_fd.h"

namespace accel::bench {

class ServerProcess {
 public:
  // Ends the program with a message if the server does not start: a benchmark has no use then.
  explicit ServerProcess(const std::string& path);
  ~ServerProcess();  // Ends the server and waits for it.
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  uint16_t port() const { return port_; }

  // User and system time of all its threads so far, in seconds, to the nanosecond.
  double CpuSeconds() const;
  int64_t ResidentKiB() const;

  // Keeps all its threads on one CPU; on any, if negative.
  void Pin(int cpu) const;

 private:
  pid_t pid_ = -1;
  uint16_t port_ = 0;
  common::UniqueFd stdin_;
};

}  // namespace accel::bench
