"""Lets the agents of a torchrun job meet: N handlers of torch's c10d rendezvous in one process, as torchrun has one on
each node. Prints the seconds from the moment at which all have a connection until the last one has its rank.

    elastic_rendezvous.py N
"""

import os
import socket
import sys
import threading
import time

from torch.distributed.elastic.rendezvous import RendezvousParameters
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import create_backend
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import create_handler


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def main():
    nodes = int(sys.argv[1])
    endpoint = f"127.0.0.1:{free_port()}"
    handlers = []
    for node in range(nodes):
        parameters = RendezvousParameters(backend="c10d", endpoint=endpoint, run_id="bench", min_nodes=nodes,
                                          max_nodes=nodes, is_host=node == 0)
        backend, store = create_backend(parameters)
        handlers.append(create_handler(store, backend, parameters))
    ranks = []
    threads = [threading.Thread(target=lambda h=handler: ranks.append(h.next_rendezvous().rank)) for handler in handlers]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begin
    if sorted(ranks) != list(range(nodes)):
        raise RuntimeError(f"the ranks are {sorted(ranks)}")
    print(seconds, flush=True)
    os._exit(0)  # The handlers would take many seconds to shut down.


main()
