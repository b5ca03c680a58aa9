import unittest

from tools.checks.definitions import faults
from tools.checks.tree import Tree


class Definitions(unittest.TestCase):
    def test_one_name_in_two_files(self):
        for text, name in (("namespace n { struct A { int x; }; }", "n::A"),
                           ("namespace n { enum class A { kOne }; }", "n::A"),
                           ("namespace n { inline int F(int a) { return 1; } }", "n::F"),
                           ("namespace n { inline constexpr int kX = 1; }", "n::kX"),
                           ("int* x;", "x")):
            self.assertEqual(faults(Tree({"a.h": text, "b.cc": text})), [f"{name}: a.h:1 and b.cc:1"])

    def test_parameters_have_different_names(self):
        self.assertEqual(faults(Tree({"a.h": "inline void F(const A& a, int = 2) {}", "b.h": "inline void F(const A& b, int c) {}"})),
                         ["F: a.h:1 and b.h:1"])

    def test_what_is_a_files_own_is_not_shared(self):
        for text in ("namespace { struct A {}; }", "static int F() { return 1; }", "constexpr int kX = 1;",
                     "int main() { struct A {}; return 0; }", "struct A;", "int F();", "extern int x;"):
            self.assertEqual(faults(Tree({"a.cc": text, "b.cc": text})), [])

    def test_overloads_and_declarations_are_no_second_definition(self):
        self.assertEqual(faults(Tree({"a.h": "void F(int);\nstruct A { static int x; void G(); };",
                                      "a.cc": "void F(int) {}\nint A::x = 0;\nvoid A::G() {}",
                                      "b.cc": "void F(long) {}\nnamespace n { void F(int) {} }"})), [])

    def test_suites_of_tests_have_names_of_their_own(self):
        test = "TEST(Suite, Case) { EXPECT_TRUE(true); }"
        self.assertEqual(faults(Tree({"a_test.cc": test, "b_test.cc": test})), [])


if __name__ == "__main__":
    unittest.main()
