// A store server in a child process: a program that prints its port and serves until its standard
// input is closed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "common/unique_fd.h"

namespace accel::bench {

class ServerProcess {
 public:
  // Starts the server. Aborts the benchmark with a message if the server does not start.
  explicit ServerProcess(const std::string& path);
  ~ServerProcess();  // Stops the server and waits until it has exited.
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  uint16_t port() const { return port_; }

  // Returns the user and system time of all its threads so far, in seconds,
  // with nanosecond resolution.
  double CpuSeconds() const;
  int64_t ResidentKiB() const;

  // Pins all its threads to one CPU, or unpins them if `cpu` is negative.
  void Pin(int cpu) const;

 private:
  pid_t pid_ = -1;
  uint16_t port_ = 0;
  common::UniqueFd stdin_;
};

}  // namespace accel::bench
