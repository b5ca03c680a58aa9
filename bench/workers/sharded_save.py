"""The peer of bench/worker/sharded_save.cc, with FSDP2 and DCP (torch.distributed.checkpoint).

    sharded_save.py save|load FOLDER LAYERS WIDTH
"""

import os
import pathlib
import shutil
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from transformer import VOCABULARY, Network, shard


def sync(folder):
    """DCP syncs each file that it writes (FileSystemWriter(sync_files=True)), but not the folder."""
    fd = os.open(folder, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def main():
    mode, folder, layers, width = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(42)
    model = shard(Network(layers, width), dist.init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randint(VOCABULARY, (1, 16))
    # DCP needs the optimizer's state to exist before it is loaded into.
    F.cross_entropy(model(x).flatten(0, 1), x.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
    for timed in (False, True) if mode == "save" else (True,):
        if mode == "save" and dist.get_rank() == 0:
            shutil.rmtree(folder, ignore_errors=True)
        dist.barrier()
        begin = time.perf_counter()
        weights, state = get_state_dict(model, optimizer)
        both = {"model": weights, "optimizer": state}
        if mode == "save":
            dcp.save(both, checkpoint_id=folder)
            sync(folder)
        else:
            dcp.load(both, checkpoint_id=folder)
            set_state_dict(model, optimizer, model_state_dict=both["model"], optim_state_dict=both["optimizer"])
        dist.barrier()
        if timed and dist.get_rank() == 0:
            taken = time.perf_counter() - begin
            print(f"load {taken:.4f}" if mode == "load" else f"stall {taken:.4f}\ndurable {taken:.4f}", flush=True)
    dist.destroy_process_group()


main()
