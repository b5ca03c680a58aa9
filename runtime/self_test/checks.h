// The checks of `accel test`: what a training program needs of a set-up, from the ranks of the
// world to a training that several processes make together. Each is small, names what it has
// found, and needs no data and no network of its own.
//
// Every rank runs every check, in the same order, because most of them communicate. A check that
// fails throws. The other ranks then learn from their next collective that a peer has left.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace accel::self_test {

struct Check {
  const char* name;  // What works if the check passes.
  void (*run)();     // Throws an exception that says what is wrong.
};

std::vector<Check> process_checks();
std::vector<Check> loader_checks();
std::vector<Check> training_checks();

inline void expect(bool holds, const std::string& otherwise) {
  if (!holds) throw std::runtime_error(otherwise);
}

}  // namespace accel::self_test
