import unittest

from tools.checks.dead_functions import faults
from tools.checks.tree import Tree

_BUILD = 'cc_binary(name = "p", srcs = ["p.cc"])\ncc_library(name = "x", srcs = ["x.cc"], hdrs = ["x.h"])\n'


def found(**files):
    names = {"page": "docs/page.md", "build": "a/BUILD.bazel"}
    tree = {names.get(name, f"a/{name.replace('_H', '.h')}" + ("" if "_H" in name else ".cc")): text for name, text in files.items()}
    return faults(Tree({"a/BUILD.bazel": _BUILD, **tree}))


class DeadFunctions(unittest.TestCase):
    def test_what_main_reaches_lives(self):
        self.assertEqual(found(p="int main() { return F(1); }", x="int F(int a) { return G(a); }\nint G(int a) { return a; }"), [])

    def test_what_only_tests_call_is_dead(self):
        self.assertEqual(found(p="int main() { return 0; }", x_H="int F();", x="int F() { return 1; }", x_test="TEST(A, B) { F(); }"),
                         ["a/x.cc:1: F()"])

    def test_what_says_that_it_is_for_tests_may_be_for_them_alone(self):
        self.assertEqual(found(p="int main() { return 0; }", x_H="// Counts,\n// for tests.\nint F();\nint G();",
                               x="int F() { return 1; }\nint G() { return 1; }"), ["a/x.cc:2: G()"])

    def test_what_only_the_dead_call_is_dead(self):
        self.assertEqual(found(p="int main() { return 0; }", x="int F() { return G() + F(); }\nint G() { return 1; }"),
                         ["a/x.cc:1: F()", "a/x.cc:2: G()"])

    def test_methods(self):
        self.assertEqual(found(p="int main() { return C().Used(); }",
                               x_H="class C {\n C();\n ~C();\n int Used();\n int Unused() { return 1; }\n bool operator==(C) const;\n};",
                               x="int C::Used() { return 1; }"), ["a/x.h:5: Unused()"])

    def test_called_from_elsewhere(self):
        for files in ({"x_H": "#define CALL_F F()", "x": "int F() { return 1; }"},
                      {"x_H": "class C : Other { void OnDone() override; };", "x": "void C::OnDone() {}"},
                      {"x": 'extern "C" int F() { return 1; }\nauto* f = dlsym(self, "F");'},
                      {"x": "int F() { return 1; }\nint value = F();"},
                      {"x": 'extern "C" {\nint __wrap_read(int a) { return a; }\n}'},
                      {"x": "int F() { return 1; }", "page": "Call `F()` first."}):
            self.assertEqual(found(p="int main() { return 0; }", **files), [])

    def test_an_override_of_our_own_needs_a_caller(self):
        self.assertEqual(found(p="int main() { return 0; }",
                               x_H="class I { virtual void Do() = 0; };\nclass C : I { void Do() override {} };"),
                         ["a/x.h:1: Do()"])

    def test_a_public_header_and_the_classes_that_it_shows(self):
        build = _BUILD + 'cc_library(name = "q", hdrs = ["q.h"], visibility = ["//visibility:public"])'
        self.assertEqual(found(build=build, p="int main() { return 0; }", q_H="class Q : public Base { Access operator->(); Own own_; };",
                               x_H="class Base { void Inherited(); };\nvoid Hidden();\nclass Access { void HandedOut(); };\n"
                                   "class Own { void Kept(); };"), ["a/x.h:2: Hidden()", "a/x.h:4: Kept()"])


if __name__ == "__main__":
    unittest.main()
