"""The coordinator has the completion queue that searches no list at each event."""

import subprocess
import sys
import unittest


class CompletionQueue(unittest.TestCase):

    def test_nothing_searches_the_operations_that_are_pending(self):
        symbols = subprocess.run(["nm", PROGRAM], check=True, capture_output=True, text=True).stdout
        self.assertIn("cq_end_op_for_next", symbols, "a completion queue without the functions that this test knows")
        self.assertNotIn("cq_check_tag", symbols)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
