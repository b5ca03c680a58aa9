// ACCEL_CHECK: for contradictions inside the program, never for input. Ends the process with the
// reason.
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
