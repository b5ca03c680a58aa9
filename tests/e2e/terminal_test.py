"""`accel launch` on a real terminal: its keys, its progress bars, its input."""

from tests.e2e import cluster
from tests.e2e.terminal import COLUMNS, Terminal

CTRL_C, CTRL_D, CTRL_Z = b"\x03", b"\x04", b"\x1a"


class LaunchOnATerminal(cluster.Test):
    def terminal(self, processes, script):
        return Terminal(self, cluster.ACCEL, "launch", "--cpu", "--num_processes", processes, self.script(script))

    def test_a_single_process_keeps_the_terminals_input(self):
        terminal = self.terminal(1, "[ -t 0 ] && echo ready $ACCEL_TERMINAL; read line; echo got $line; cat")
        terminal.expect(b"ready %d" % COLUMNS)
        terminal.type(b"breakpoint\n")
        terminal.expect(b"got breakpoint")
        terminal.type(CTRL_D)
        self.assertEqual(terminal.finish(), 0)

    def test_ctrl_c_reaches_a_single_process_itself(self):
        terminal = self.terminal(1, "trap 'echo interrupted; exit 9' INT; echo ready; while :; do sleep 0.1; done")
        terminal.expect(b"ready")
        terminal.type(CTRL_C)
        terminal.expect(b"interrupted")
        self.assertEqual(terminal.finish(), 9)
        terminal = self.terminal(1, "echo ready; exec sleep 600")
        terminal.expect(b"ready")
        terminal.type(CTRL_C)
        self.assertEqual(terminal.finish(), 130)

    def test_ctrl_z_does_not_leave_the_terminal_stuck(self):
        terminal = self.terminal(1, "echo ready; read line; echo got $line")
        terminal.expect(b"ready")
        terminal.type(CTRL_Z)
        terminal.expect(b"^Z")
        terminal.type(b"on\n")
        terminal.expect(b"got on")
        self.assertEqual(terminal.finish(), 0)

    def test_several_processes_have_no_input(self):
        terminal = self.terminal(2, "read line || echo nothing")
        terminal.expect(b"nothing")
        terminal.expect(b"nothing")
        self.assertEqual(terminal.finish(), 0)

    def test_ctrl_c_ends_several_processes(self):
        terminal = self.terminal(2, "trap 'touch term.$RANK; exit 0' TERM; echo ready; while :; do sleep 0.1; done")
        terminal.expect(b"ready")
        terminal.expect(b"ready")
        terminal.type(CTRL_C)
        self.assertEqual(terminal.finish(), 130)
        self.assertTrue(self.path("term.0").exists() and self.path("term.1").exists())
        self.assertEqual(self.leftovers(0), [])

    def test_a_second_ctrl_c_kills_several_processes(self):
        terminal = self.terminal(2, "trap '' TERM; echo ready; while :; do sleep 0.1; done")
        terminal.expect(b"ready")
        terminal.expect(b"ready")
        terminal.type(CTRL_C)
        terminal.expect(b"a second signal kills")
        terminal.type(CTRL_C)
        terminal.expect(b"killing")
        self.assertEqual(terminal.finish(), 130)
        self.assertEqual(self.leftovers(0), [])

    def test_a_progress_bar_is_kept_next_to_another_rank(self):
        terminal = self.terminal(2, r"""
if [ $RANK = 0 ]; then
  printf '\rbar 1/2' >&2; touch bar; while [ ! -e line ]; do sleep 0.01; done; printf '\rbar 2/2\n' >&2
  echo "columns $ACCEL_TERMINAL"
else
  while [ ! -e bar ]; do sleep 0.01; done; echo "beside $ACCEL_TERMINAL"
fi""")
        terminal.read(b"beside")
        self.path("line").touch()
        self.assertEqual(terminal.finish(), 0)
        # Computes what a screen shows: each \r returns to the start of the line, and later text overwrites it.
        lines = [line.rpartition(b"\r")[2] for line in terminal.out.replace(b"\r\n", b"\n").split(b"\n")]
        shown = [line.replace(b"\x1b[K", b"") for line in lines if line]
        self.assertIn(b"[rank 1] beside ", shown)
        self.assertIn(b"[rank 0] bar 2/2", shown)
        self.assertIn(b"[rank 0] columns %d" % (COLUMNS - len("[rank 0] ")), shown)


if __name__ == "__main__":
    cluster.main()
