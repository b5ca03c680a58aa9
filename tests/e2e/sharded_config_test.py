"""Options of FSDP from a configuration file, through the environment, to the checkpoints of a run."""

import json
import struct

from tests.e2e import cluster

CHAR_TRANSFORMER = cluster.runfile("examples/char_transformer")
CONFIG = """
distributed_type: FSDP
use_cpu: true
num_processes: 2
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: Block
"""


def names_in(folder, pattern):
    """Returns the names of the tensors in the safetensors files of a folder."""
    names = set()
    for file in folder.glob(pattern):
        with open(file, "rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            names |= set(json.loads(stream.read(length)))
    return names - {"__metadata__"}


class ShardedConfig(cluster.Test):
    def launch_with(self, steps, *options):
        """Runs a small model with these lines in fsdp_config."""
        config = self.path("fsdp.yaml")
        config.write_text(CONFIG + "".join(f"  {option}\n" for option in options))
        return self.accel("launch", "--config_file", config, CHAR_TRANSFORMER, "--project", self.path("project"),
                          "--width", 32, "--blocks", 2, "--context", 16, "--batch_size", 4, "--save_every", 2,
                          "--eval_every", 1000, "--steps", steps, seconds=300)

    def train(self, steps, *options):
        """Does the same, and returns the result and the newest checkpoint."""
        result = self.launch_with(steps, *options)
        self.assertEqual(result.code, 0, result)
        return result, self.path(f"project/checkpoints/checkpoint_{steps // 2 - 1}")

    def test_ignored_modules_are_whole_in_the_part_of_rank_0(self):
        _, checkpoint = self.train(2, "fsdp_state_dict_type: SHARDED_STATE_DICT", r"fsdp_ignored_modules: 'blocks\.0'")
        first, second = (names_in(checkpoint / "model", f"shard-0000{rank}-*.safetensors") for rank in range(2))
        ignored = {name for name in first if name.startswith("blocks.0.")}
        self.assertEqual(ignored, {name.replace("blocks.1.", "blocks.0.") for name in first | second
                                   if name.startswith("blocks.1.")})
        self.assertFalse({name for name in second if name.startswith("blocks.0.")})
        self.assertTrue({name for name in second if name.startswith("blocks.1.")})

    def test_an_expression_that_matches_no_module_is_refused(self):
        result = self.launch_with(2, "fsdp_ignored_modules: 'block'")
        self.assertNotEqual(result.code, 0, result)
        self.assertIn("ignored_modules", result.err)
        self.assertIn("block", result.err)

    def test_a_full_state_dict_is_one_file_that_parts_resume_from(self):
        _, checkpoint = self.train(2, "fsdp_state_dict_type: FULL_STATE_DICT")
        self.assertFalse((checkpoint / "model").exists())
        self.assertFalse((checkpoint / "optimizer").exists())
        whole = names_in(checkpoint, "model.safetensors")
        self.assertTrue(whole)
        result, checkpoint = self.train(4, "fsdp_state_dict_type: SHARDED_STATE_DICT")
        self.assertIn("resumed at step 2", result.err)
        self.assertFalse((checkpoint / "model.safetensors").exists())
        self.assertEqual(names_in(checkpoint / "model", "*.safetensors"), whole)


if __name__ == "__main__":
    cluster.main()
