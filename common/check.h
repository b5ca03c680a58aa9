// ACCEL_CHECK aborts the process with a reason if a condition is false. Use it for contradictions
// inside the program, never for input.
#pragma once

#include <cstdio>
#include <cstdlib>

#define ACCEL_CHECK(condition, reason)                                                       \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      std::fprintf(stderr, "%s:%d: CHECK failed: %s (%s)\n", __FILE__, __LINE__, #condition, \
                   reason);                                                                  \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
