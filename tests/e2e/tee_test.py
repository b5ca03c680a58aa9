"""--tee, --role and --log_dir beside torchrun's: the same files with the same contents, the same lines on the terminal."""

import pathlib
import unittest

from tests.e2e import cluster

FLAGS = ("--tee", "0:3,1:1", "--role", "trainer", "--max_restarts", 1)
# Fails once, with both local ranks, and ends well after the restart.
PROGRAM = """
echo out $RANK attempt $TORCHELASTIC_RESTART_COUNT
echo err $RANK >&2
if [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then
  touch failed.$RANK
  while [ ! -e failed.$((1 - RANK)) ]; do sleep 0.01; done
  exit 3
fi
"""


class Tee(cluster.Test):
    def files_of(self, folder):
        """Returns the contents of torchrun's output files by their paths below the folder of the run."""
        runs = list(pathlib.Path(folder).iterdir())
        self.assertEqual(len(runs), 1, runs)
        return {str(path.relative_to(runs[0])): path.read_text() for path in runs[0].glob("attempt_*/*/*.log")}

    def test_files_and_lines_are_torchruns(self):
        script = self.script(PROGRAM)
        theirs = self.run_command(cluster.PYTHON, "-m", "torch.distributed.run", "--standalone", "--no-python",
                                  "--nproc_per_node", 2, *FLAGS, "--log_dir", "theirs", script)
        for failed in self.path(".").glob("failed.*"):
            failed.unlink()
        ours = self.launch("--num_processes", 2, *FLAGS, "--log_dir", "ours", script)
        self.assertEqual((ours.code, theirs.code), (0, 0), (ours, theirs))
        expected = self.files_of(self.path("theirs"))
        self.assertEqual(expected["attempt_1/0/stdout.log"], "out 0 attempt 1\n")
        # torchrun makes a file for a stream with output alone, or an empty one. An empty one says nothing.
        self.assertEqual(self.files_of(self.path("ours")), {name: text for name, text in expected.items() if text})
        marked = sorted(line for line in theirs.out.splitlines() if line.startswith("[trainer"))
        self.assertEqual(sorted(ours.out.splitlines()), marked)
        self.assertIn("[trainer0]:err 0\n", theirs.err)
        self.assertIn("[trainer0]:err 0\n", ours.err)
        self.assertIn("err 1\n", ours.err)
        self.assertNotIn("[trainer1]:err", ours.err)

    def test_one_process_is_marked_too_and_without_a_folder_nothing_is_copied(self):
        self.path("tmp").mkdir()
        result = self.launch("--tee", 1, self.script("printf 'a\\nb'; printf c >&2"), env={"TMPDIR": str(self.path("tmp"))})
        self.assertEqual((result.out, result.err), ("[default0]:a\n[default0]:b\n", "c"), result)
        self.assertEqual(list(self.path("tmp").iterdir()), [])

    def test_error_files_are_found_where_torchruns_are(self):
        script = self.script('echo "{\\"message\\": \\"boom\\"}" > $TORCHELASTIC_ERROR_FILE; exit 4')
        result = self.launch("--tee", 3, "--log_dir", "logs", script)
        self.assertEqual(result.code, 4, result)
        found = list(self.path("logs").glob("*/attempt_0/0/error.json"))
        self.assertEqual([path.read_text() for path in found], ['{"message": "boom"}\n'])

    def test_a_worker_that_removes_its_output_ends_nothing(self):
        script = self.script(f"rm -rf {self.path('logs')}/*/gen_1/*; yes line | head -c 10000000; touch end")
        result = self.launch("--log_dir", "logs", script)
        self.assertEqual(result.code, 0, result)
        self.assertTrue(self.path("end").exists())

    def test_copies_that_cannot_be_written_are_named(self):
        """The workers' own output is in the same folder, so only the copies are prevented."""
        script = self.script(f"for run in {self.path('logs')}/*; do touch $run/attempt_0; done; echo hi")
        result = self.launch("--tee", 3, "--log_dir", "logs", script)
        self.assertEqual((result.code, result.out), (0, "[default0]:hi\n"), result)
        self.assertRegex(result.err, r"accel: cannot make the folder \S+/attempt_0/0: Not a directory; the copies of --tee "
                         "are incomplete, and the terminal has all output\n")


if __name__ == "__main__":
    unittest.main()
