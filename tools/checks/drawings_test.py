import unittest

from tools.checks.drawings import faults
from tools.checks.tree import Tree


class Drawings(unittest.TestCase):
    def test_a_drawing_stands_between_off_and_on(self):
        for drawing in ("//   A ─▶ B", "//  A --> B", "//  <-- B", "//  +----+", "int x;  //  A ==> B"):
            self.assertEqual(faults(Tree({"a.h": f"// Head.\n{drawing}\n"})), [f"a.h:2: {drawing[drawing.index('//'):]}"])
            self.assertEqual(faults(Tree({"a.h": f"// clang-format off\n{drawing}\n// clang-format on\n"})), [])
            self.assertEqual(len(faults(Tree({"a.h": f"// clang-format off\n// clang-format on\n{drawing}\n"}))), 1)

    def test_code_is_not_a_drawing(self):
        self.assertEqual(faults(Tree({"a.cc": '// Calls p->x, then y: 1 -> 2.\nwhile (x --> 0) puts("─▶ -->");'})), [])

    def test_a_list_that_lost_its_indentation(self):
        self.assertEqual(faults(Tree({"a.h": "// * A node without\n// one\n//   takes another.\n"})),
                         ["a.h:2: a list item was broken here"])
        self.assertEqual(faults(Tree({"a.h": "//   - it is\n//   also\n//     so.\n"})), ["a.h:2: a list item was broken here"])

    def test_lists_that_are_whole(self):
        for text in ("// * A node without\n//   one.\n// * B.\n", "// 1. A\n//    b.\n// After it.\n",
                     "// * A\n//\n// Text.\n//   Code.\n", "// * A.\nint x;\n// Text.\n//   Code.\n"):
            self.assertEqual(faults(Tree({"a.h": text})), [])


if __name__ == "__main__":
    unittest.main()
