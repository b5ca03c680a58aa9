"""BERT in plain torch, with the names of Transformers' weights. Run by tests of examples/bert with the interpreter that
has PyTorch:

    bert_reference.py make FOLDER         # config.json, model.safetensors, data.txt, and `pretrained`, a folder
    bert_reference.py logits WEIGHTS DATA OUT
    bert_reference.py train FOLDER STEPS OUT
    bert_reference.py save_parts WEIGHTS PARTS
    bert_reference.py compare_parts CHECKPOINT WEIGHTS TRAINED
"""

import json
import os
import pathlib
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch.distributed.checkpoint import HuggingFaceStorageReader
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

LABELS, HEADS, LR = 3, 4, 1e-3
CONFIG = {
    "architectures": ["BertForSequenceClassification"], "model_type": "bert", "hidden_act": "gelu", "vocab_size": 101,
    "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": HEADS, "intermediate_size": 64,
    "max_position_embeddings": 20, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "initializer_range": 0.02,
    "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    "id2label": {str(i): f"LABEL_{i}" for i in range(LABELS)}, "label2id": {f"LABEL_{i}": i for i in range(LABELS)},
}


def shapes(config):
    """Returns the shape of each weight of BertForSequenceClassification, by name."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    found = {}

    def linear(name, outputs, inputs):
        found.update({f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)})

    def norm(name):
        found.update({f"{name}.LayerNorm.weight": (width,), f"{name}.LayerNorm.bias": (width,)})

    for kind, size in (("word", "vocab_size"), ("position", "max_position_embeddings"), ("token_type", "type_vocab_size")):
        found[f"bert.embeddings.{kind}_embeddings.weight"] = (config[size], width)
    norm("bert.embeddings")
    for i in range(config["num_hidden_layers"]):
        layer = f"bert.encoder.layer.{i}"
        for part in ("query", "key", "value"):
            linear(f"{layer}.attention.self.{part}", width, width)
        linear(f"{layer}.attention.output.dense", width, width)
        norm(f"{layer}.attention.output")
        linear(f"{layer}.intermediate.dense", inner, width)
        linear(f"{layer}.output.dense", width, inner)
        norm(f"{layer}.output")
    linear("bert.pooler.dense", width, width)
    linear("classifier", len(config["id2label"]), width)
    return found


def random_weights(config):
    """Larger than Transformers' initial values, so that every weight has an effect on the logits."""
    weights = {name: 0.1 * torch.randn(shape) for name, shape in shapes(config).items()}
    for name in weights:
        if name.endswith("LayerNorm.weight"):
            weights[name] += 1
    return weights


def logits_of(weights, tokens, segments, mask, heads=HEADS):
    """Returns the logits of sentences [batch, time]. `mask` is true for tokens, and false after the end."""
    layers = 1 + max(int(name.split(".")[3]) for name in weights if name.startswith("bert.encoder.layer."))

    def linear(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x, name):
        gain, bias = weights[f"{name}.LayerNorm.weight"], weights[f"{name}.LayerNorm.bias"]
        return F.layer_norm(x, x.shape[-1:], gain, bias, CONFIG["layer_norm_eps"])

    def embedding(kind, indices):
        return weights[f"bert.embeddings.{kind}_embeddings.weight"][indices]

    x = embedding("word", tokens) + embedding("token_type", segments) + embedding("position", torch.arange(tokens.shape[1]))
    x = norm(x, "bert.embeddings")
    for i in range(layers):
        layer = f"bert.encoder.layer.{i}"
        query, key, value = (linear(x, f"{layer}.attention.self.{part}").unflatten(2, (heads, -1)).transpose(1, 2)
                             for part in ("query", "key", "value"))
        scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5
        mixed = scores.masked_fill(~mask[:, None, None], -torch.inf).softmax(3) @ value
        x = norm(linear(mixed.transpose(1, 2).flatten(2), f"{layer}.attention.output.dense") + x, f"{layer}.attention.output")
        inner = F.gelu(linear(x, f"{layer}.intermediate.dense"))
        x = norm(linear(inner, f"{layer}.output.dense") + x, f"{layer}.output")
    return linear(linear(x[:, 0], "bert.pooler.dense").tanh(), "classifier")


def read_data(file):
    """Returns tokens, segments, mask and labels of a text of sentences."""
    rows = [line.split() for line in file.read_text().splitlines()]
    longest = max(len(row) - 1 - row.count("|") for row in rows)
    tokens, segments = torch.zeros(2, len(rows), longest, dtype=torch.long)
    mask = torch.zeros(len(rows), longest, dtype=torch.bool)
    for i, row in enumerate(rows):
        segment, at = 0, 0
        for word in row[1:]:
            if word == "|":
                segment = 1
                continue
            tokens[i, at], segments[i, at], mask[i, at] = int(word), segment, True
            at += 1
    return tokens, segments, mask, torch.tensor([int(row[0]) for row in rows])


def make(folder):
    torch.manual_seed(1)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    weights = random_weights(CONFIG)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    lines = []
    for i in range(24):
        words = torch.randint(CONFIG["vocab_size"], (3 + i % 15,)).tolist()
        if i % 3 == 0:
            words.insert(2, "|")
        lines.append(" ".join(map(str, [torch.randint(LABELS, ()).item(), *words])))
    (folder / "data.txt").write_text("\n".join(lines) + "\n")

    # As the original BERT is stored: with the heads of its pretraining, a buffer, old names, and here in two files.
    pretrained = folder / "pretrained"
    pretrained.mkdir()
    config = {name: value for name, value in CONFIG.items() if name not in ("id2label", "label2id")}
    (pretrained / "config.json").write_text(json.dumps({**config, "architectures": ["BertForMaskedLM"]}))
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
           for name, value in weights.items() if not name.startswith("classifier.")}
    old["bert.embeddings.position_ids"] = torch.arange(CONFIG["max_position_embeddings"])[None]
    old["cls.predictions.bias"] = torch.zeros(CONFIG["vocab_size"])
    names, index = sorted(old), {}
    for i, part in enumerate((names[::2], names[1::2]), 1):
        file = f"model-{i:05}-of-00002.safetensors"
        save_file({name: old[name] for name in part}, pretrained / file, metadata={"format": "pt"})
        index.update({name: file for name in part})
    (pretrained / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))


def logits(weights, data, out):
    tokens, segments, mask, _ = read_data(data)
    with torch.no_grad():
        rows = logits_of(load_file(weights), tokens, segments, mask)
    out.write_text("\n".join(" ".join(map(str, row)) for row in rows.tolist()) + "\n")


def train(folder, steps, out):
    """Trains on all sentences in each step, as the example's flags say. Saves losses, weights and moments."""
    weights = load_file(folder / "model.safetensors")
    *inputs, labels = read_data(folder / "data.txt")
    for tensor in weights.values():
        tensor.requires_grad_()
    optimizer = torch.optim.AdamW(weights.values(), lr=LR, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    losses = []
    for _ in range(steps):
        loss = F.cross_entropy(logits_of(weights, *inputs), labels)
        losses.append(loss.item())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    state = {name: tensor.detach() for name, tensor in weights.items()}
    for name, tensor in weights.items():
        for moment in ("exp_avg", "exp_avg_sq"):
            state[f"state.{name}.{moment}"] = optimizer.state[tensor][moment]
    save_file(state, out, metadata={"losses": json.dumps(losses)})
    print(json.dumps(losses))


def save_rank(rank, weights, parts):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2")
    dist.init_process_group("gloo", rank=rank, world_size=2, store=dist.FileStore(f"{parts}.store", 2))
    mesh = init_device_mesh("cpu", (2,))
    dcp.save({"model": {name: distribute_tensor(tensor, mesh, [Shard(0)]) for name, tensor in load_file(weights).items()}},
             checkpoint_id=parts)
    dist.destroy_process_group()


def save_parts(weights, parts):
    """Saves weights as Accelerate's FSDP does: rows of each tensor by each of two ranks."""
    torch.multiprocessing.spawn(save_rank, args=(str(weights), str(parts)), nprocs=2)


def compare_parts(checkpoint, weights, trained):
    """Compares what torch reads from the folders of a sharded checkpoint: the model with a file of the whole model, bit
    by bit, and the moments with those of train()."""
    expected = {"model": load_file(weights), "optimizer": {}}
    for name, tensor in load_file(trained).items():
        if name.startswith("state."):
            expected["optimizer"][name] = tensor
    for folder, tensors in expected.items():
        read = {name: torch.full_like(tensor, torch.nan) for name, tensor in tensors.items()}
        dcp.load(read, storage_reader=HuggingFaceStorageReader(str(checkpoint / folder)), no_dist=True)
        saved = HuggingFaceStorageReader(str(checkpoint / folder)).read_metadata().state_dict_metadata
        assert set(saved) == set(tensors), set(saved) ^ set(tensors)
        for name, tensor in tensors.items():
            if folder == "model":
                assert torch.equal(read[name], tensor), name
            else:
                torch.testing.assert_close(read[name], tensor, atol=1e-6, rtol=1e-3, msg=lambda text, name=name: f"{name}: {text}")
    print(len(expected["model"]), len(expected["optimizer"]))


def main():
    name, *arguments = sys.argv[1:]
    command = {"make": make, "logits": logits, "train": train, "save_parts": save_parts, "compare_parts": compare_parts}[name]
    command(*(int(argument) if argument.isdigit() else pathlib.Path(argument) for argument in arguments))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
