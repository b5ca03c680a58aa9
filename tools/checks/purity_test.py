import unittest

from tools.checks.purity import faults
from tools.checks.tree import Tree


class Purity(unittest.TestCase):
    def test_what_decides_from_values_is_pure(self):
        self.assertEqual(faults(Tree({
            "a/core/x.h": '#include <chrono>\n#include "a/y.h"\nint Next(absl::Time now);',
            "a/core/x.cc": '#include <random>\nint f(std::mt19937& g) { return list.remove(1) + g() + when.time(3); }',
            "a/y.h": "// std::mutex, time(nullptr)\nstd::string s = \"<mutex>\";",
        })), [])

    def test_each_thing_of_the_world_is_refused(self):
        for text, what in (("#include <mutex>", "threads (<mutex>)"),
                           ("#include <thread>  // one", "threads (<thread>)"),
                           ('#include "absl/synchronization/mutex.h"', "threads (<absl/synchronization/mutex.h>)"),
                           ('#include "absl/time/clock.h"', "the clock (<absl/time/clock.h>)"),
                           ("auto t = absl::Now();", "the clock (Now())"),
                           ("auto t = std::chrono::steady_clock::now();", "the clock (steady_clock)"),
                           ("auto t = time(nullptr);", "the clock (time())"),
                           ("#include <fstream>", "files (<fstream>)"),
                           ("#include <unistd.h>", "files (<unistd.h>)"),
                           ("#include <sys/socket.h>", "sockets (<sys/socket.h>)"),
                           ("std::random_device seed;", "randomness (random_device)"),
                           ("absl::BitGen g;", "randomness (BitGen)"),
                           ("const char* home = std::getenv(n);", "the environment (getenv())"),
                           ("int f() { return rand(); }", "randomness (rand())"),
                           ("#include <spdlog/spdlog.h>", "logs (<spdlog/spdlog.h>)"),
                           ("#include <grpcpp/grpcpp.h>", "gRPC (<grpcpp/grpcpp.h>)"),
                           ("#include <torch/torch.h>", "LibTorch (<torch/torch.h>)")):
            self.assertEqual(faults(Tree({"a/core/x.cc": text})), [f"a/core/x.cc:1: {what}"])
            self.assertEqual(faults(Tree({"a/score/x.cc": text, "a/core/x_test.cc": text})), [], "only cores, without tests")

    def test_through_our_own_headers_and_what_they_declare(self):
        tree = Tree({"a/core/x.h": '#include "b/y.h"', "b/y.h": '#include "b/z.h"', "b/z.h": "int Z();",
                     "b/z.cc": '#include "b/z.h"\n\n#include <mutex>', "b/other.cc": "#include <mutex>"})
        self.assertEqual(faults(tree), ["b/z.cc:3: threads (<mutex>), through a/core/x.h -> b/y.h -> b/z.h"])


if __name__ == "__main__":
    unittest.main()
