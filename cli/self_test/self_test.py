"""The Python part of `accel test`: checks that PyTorch's own processes form a world and train together."""
import os
import socket
import sys


def everyone_takes_part(rank, world):
    ranks = [torch.zeros(1, device=device) for _ in range(world)]
    dist.all_gather(ranks, torch.full((1,), float(rank), device=device))
    expect([int(each) for each in ranks] == list(range(world)), f"the ranks are {ranks}")


def collectives_are_right(rank, world):
    total = torch.full((2,), float(rank + 1), device=device)
    dist.all_reduce(total)
    expect(total.tolist() == [world * (world + 1) / 2] * 2, f"the sum over all ranks is {total.tolist()}")
    first = torch.full((2,), float(rank + 5), device=device)
    dist.broadcast(first, 0)
    expect(first.tolist() == [5.0, 5.0], f"the broadcast of rank 0 is {first.tolist()}")


def points_of(count):
    x = torch.randn(count, 1, generator=torch.Generator().manual_seed(7))
    return x, 2 * x + 3


def train(model, batches):
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in batches:
        sgd.zero_grad()
        (model(x.to(device)) - y.to(device)).square().mean().backward()
        sgd.step()
    return torch.cat([parameter.detach().flatten().cpu() for parameter in model.parameters()])


def training_equals_one_process(rank, world):
    x, y = points_of(32 * world)
    torch.manual_seed(0)
    alone, together = torch.nn.Linear(1, 1).to(device), torch.nn.Linear(1, 1).to(device)
    together.load_state_dict(alone.state_dict())
    whole = list(zip(x.split(8 * world), y.split(8 * world)))
    mine = [(a[rank * 8:rank * 8 + 8], b[rank * 8:rank * 8 + 8]) for a, b in whole]
    ids = [device.index] if device.type == "cuda" else None
    if world > 1:
        together = torch.nn.parallel.DistributedDataParallel(together, device_ids=ids)
    found, expected = train(together, mine), train(alone, whole)
    expect(torch.allclose(found, expected, atol=1e-5), f"the parameters are {found.tolist()}, not {expected.tolist()}")


def expect(holds, otherwise):
    if not holds:
        raise AssertionError(otherwise)


CHECKS = [("every process takes part in Python", everyone_takes_part),
          ("Python's collectives give the right results", collectives_are_right),
          ("Python's training equals that of one process", training_equals_one_process)]

rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
name = "starting PyTorch"
try:
    import torch
    import torch.distributed as dist
    use_gpu = torch.cuda.is_available() and os.environ.get("ACCELERATE_USE_CPU") != "true"
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if use_gpu else torch.device("cpu")
    if use_gpu:
        torch.cuda.set_device(device)
    name = "joining the world"
    if "RANK" in os.environ:
        dist.init_process_group("nccl" if use_gpu else "gloo")
    else:
        CHECKS = CHECKS[2:]
    for name, check in CHECKS:
        check(rank, world)
        if rank == 0:
            print(f"ok: {name}", flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()
    # A Gloo thread that releases a tensor while the interpreter exits would abort the process (PyTorch 2.11).
    os._exit(0)
except Exception as error:
    sys.exit(f"rank {rank} on node {socket.gethostname()}: the check \"{name}\" failed: {error}")
