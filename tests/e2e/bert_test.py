"""The example with a model of Hugging Face: what Python wrote is fine-tuned in C++, sharded or not, and read in Python."""

import json
import os
import pathlib
import re

from tests.e2e import cluster

BERT = cluster.runfile("examples/bert")
REFERENCE = cluster.runfile("tests/e2e/bert_reference.py")
STEPS = 4
FSDP = ("--use_fsdp", "--fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP", "--fsdp_transformer_layer_cls_to_wrap",
        "BertLayer", "--fsdp_state_dict_type", "SHARDED_STATE_DICT")
# The file of the guide "Accelerate" of Transformers, with its old name of fsdp_backward_prefetch.
GUIDE = """
compute_environment: LOCAL_MACHINE
debug: false
distributed_type: FSDP
downcast_bf16: 'no'
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch_policy: BACKWARD_PRE
  fsdp_forward_prefetch: false
  fsdp_cpu_ram_efficient_loading: true
  fsdp_offload_params: false
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_sync_module_states: true
  fsdp_transformer_layer_cls_to_wrap: BertLayer
  fsdp_use_orig_params: true
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 1
num_processes: 2
rdzv_backend: static
same_network: true
tpu_env: []
tpu_use_cluster: false
tpu_use_sudo: false
use_cpu: false
"""


class Bert(cluster.Test):
    def setUp(self):
        super().setUp()
        self.env["CUDA_VISIBLE_DEVICES"] = ""  # Neither --use_fsdp nor the guide's file goes together with --cpu.
        self.model = self.path("model")
        self.reference("make", self.model)

    def reference(self, *arguments):
        environment = {"PATH": f"{pathlib.Path(cluster.PYTHON).parent}:{os.environ['PATH']}"}
        result = self.run_command(cluster.PYTHON, REFERENCE, *arguments, seconds=300, env=environment)
        self.assertEqual(result.code, 0, result)
        return result.out

    def bert(self, processes, *flags, launch=("--cpu",)):
        """Runs the example on all of the 24 sentences in each step, whatever the number of processes."""
        result = self.accel("launch", "--num_processes", processes, *launch, BERT, "--model", self.model, "--data",
                            self.model / "data.txt", "--batch_size", 24 // processes, "--lr", 1e-3, "--log_every", 1,
                            *flags, seconds=300)
        self.assertEqual(result.code, 0, result)
        return result

    def numbers(self, file):
        return [float(word) for word in file.read_text().split()]

    def expect_close(self, found, expected, tolerance):
        self.assertEqual(len(found), len(expected))
        self.assertLessEqual(max(abs(a - b) for a, b in zip(found, expected)), tolerance)

    def expect_logits_of_python(self, found, weights, tolerance=2e-6):
        """Compares logits of the example with those that Python computes from a file of weights."""
        expected = self.path("expected.txt")
        self.reference("logits", weights, self.model / "data.txt", expected)
        self.assertEqual(len(self.numbers(expected)), 24 * 3)
        self.expect_close(self.numbers(found), self.numbers(expected), tolerance)

    def test_trains_as_python_does_sharded_or_not(self):
        losses = json.loads(self.reference("train", self.model, STEPS, self.path("trained")))
        runs = {"one": (1, ("--cpu",)), "replicated": (2, ("--cpu",)), "sharded": (2, FSDP)}
        for name, (processes, launch) in runs.items():
            before, after, saved = (self.path(f"{name}.{file}") for file in ("before", "after", "saved"))
            self.bert(processes, "--steps", 0, "--logits", before, launch=launch)
            self.expect_logits_of_python(before, self.model / "model.safetensors")
            result = self.bert(processes, "--steps", STEPS, "--logits", after, "--save", saved, "--state",
                               self.path(f"{name}.state"), launch=launch)
            self.expect_close([float(loss) for loss in re.findall(r"step \d+: loss (\S+)", result.out)], losses, 1e-5)
            self.assertEqual("bert.encoder.layer.0" in result.out, launch == FSDP, result)
            self.expect_logits_of_python(after, saved / "model.safetensors")
            config = json.loads((saved / "config.json").read_text())
            self.assertEqual(config, json.loads((self.model / "config.json").read_text()))
        # What the ranks have written, each its part, torch and the example put together.
        parts = self.path("sharded.state")
        counts = self.reference("compare_parts", parts, self.path("sharded.saved/model.safetensors"), self.path("trained"))
        self.assertEqual(counts, "57 114\n")
        for processes in (1, 3):
            again = self.path(f"again.{processes}")
            self.bert(processes, "--steps", 0, "--weights", parts / "model", "--logits", again, "--shard")
            self.expect_close(self.numbers(again), self.numbers(self.path("sharded.after")), 2e-6)

    def test_reads_the_folder_of_a_sharded_run_in_python(self):
        parts, found, whole = (self.path(name) for name in ("pytorch_model_fsdp_0", "found", "whole.safetensors"))
        (self.model / "model.safetensors").rename(whole)
        self.reference("save_parts", whole, parts)
        self.assertTrue((parts / "__1_0.distcp").exists())
        for processes in (1, 2):
            self.bert(processes, "--steps", 0, "--weights", parts, "--logits", found, launch=FSDP)
            self.expect_logits_of_python(found, whole)

    def test_a_pretrained_model_learns_with_the_file_of_the_guide(self):
        self.path("guide.yaml").write_text(GUIDE)
        for launch in (("--config_file", self.path("guide.yaml")), ("--cpu", "--num_processes", 2)):
            result = self.accel("launch", *launch, BERT, "--model", self.model / "pretrained", "--labels", 3, "--steps", 60,
                                "--lr", 5e-3, "--save", self.path("saved"), seconds=300)
            self.assertEqual(result.code, 0, result)
            self.assertIn("not used: bert.embeddings.position_ids, cls.predictions.bias\n", result.out)
            self.assertIn("new: classifier.bias, classifier.weight\n", result.out)
            self.assertEqual("bert.encoder.layer.0" in result.out, "--config_file" in launch, result)
            accuracy = {when: float(re.search(rf"{when}: loss \S+ accuracy ([0-9.]+)", result.out).group(1))
                        for when in ("before", "after")}
            self.assertLess(accuracy["before"], 0.6, result)
            self.assertGreater(accuracy["after"], 0.75, result)
            self.assertEqual(len(json.loads((self.path("saved") / "config.json").read_text())["id2label"]), 3)

    def test_another_model_is_refused_by_name(self):
        config = json.loads((self.model / "config.json").read_text())
        for change, expected in (({"num_hidden_layers": 4}, "its model lacks bert.encoder.layer.3.attention"),
                                 ({"hidden_size": 16}, "has shape"),
                                 ({"hidden_act": "relu"}, 'config.json: hidden_act should be gelu, not "relu"'),
                                 ({"model_type": "gpt2"}, 'config.json: model_type should be bert, not "gpt2"')):
            (self.model / "config.json").write_text(json.dumps({**config, **change}))
            result = self.launch("--num_processes", 2, BERT, "--model", self.model, "--shard")
            self.assertEqual(result.code, 1, result)
            self.assertIn(expected, result.err)


if __name__ == "__main__":
    cluster.main()
