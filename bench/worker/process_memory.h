// The memory of this process, for workers of benchmarks.
#pragma once

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

// Returns a line of /proc/self/status, such as VmRSS, or VmHWM for the highest VmRSS, in bytes.
inline double memory(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":"))
      return 1024 * std::strtod(line.c_str() + key.size() + 1, nullptr);
  }
  throw std::runtime_error("/proc/self/status has no " + key);
}

// From here on, VmHWM is the highest VmRSS.
inline void forget_highest_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }
