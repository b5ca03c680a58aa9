// A fuzz target: a function that gives any bytes to one decoder and checks what must hold for all
// of them. libFuzzer calls it (tools/fuzz), and so does the ordinary test of each target
// (replay.cc).
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

// Declares the target of a file, whose body follows:
//
//   FUZZ_TARGET(bytes) { ACCEL_CHECK(Decode(bytes).ok() || ..., "why this must hold"); }
//
// It aborts if a property does not hold. The name and the signature inside are libFuzzer's.
#define FUZZ_TARGET(bytes)                                                   \
  static void RunTarget(absl::string_view bytes);                            \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);   \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {  \
    RunTarget(absl::string_view(reinterpret_cast<const char*>(data), size)); \
    return 0;                                                                \
  }                                                                          \
  static void RunTarget(absl::string_view bytes)
