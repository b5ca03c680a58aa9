"""Checks that directories named `core` are pure: they decide from values, and only shells touch the world.

The following is refused in a core, and in all our own code that it includes, headers and their definitions alike:
threads and locks, the clock, files, sockets, the environment, the terminal and logs, randomness, gRPC and LibTorch. The
current time is passed in as a value (`now`), and a random generator is passed in with a seed. `std::mt19937` is
allowed, because its values depend only on its seed. `std::random_device` and `absl::BitGen` are refused, because they
draw a seed from the system.
"""

import re

from tools.checks.cpp import is_code
from tools.checks.includes import companion, includes

TITLE = "a core is not pure"

# <arpa/inet.h> is not listed, because it only converts addresses. <sys/mman.h> is not listed, because without a file it
# only gives memory.
_HEADERS = {
    "threads": r"(thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|stop_token|atomic|pthread\.h"
               r"|absl/synchronization/.*)",
    "the clock": r"(absl/time/clock\.h|sys/time\.h)",
    "files": r"(fstream|filesystem|fcntl\.h|unistd\.h|dirent\.h|sys/(stat|file|statvfs|inotify|uio)\.h)",
    "sockets": r"(sys/(socket|un|epoll|select)\.h|poll\.h|netdb\.h|(netinet|net)/.*)",
    "processes": r"(spawn\.h|sys/(wait|prctl|resource|syscall|signalfd|timerfd|eventfd)\.h)",
    "the terminal": r"(iostream|syncstream|termios\.h)",
    "logs": r"(spdlog/.*|absl/log/.*)",
    "gRPC": r"(grpc|grpcpp)/.*",
    "LibTorch": r"(torch|ATen|c10|caffe2)/.*",
}
_HEADERS = {what: re.compile(pattern + r"\Z") for what, pattern in _HEADERS.items()}

# Names that a list of headers cannot find, because they need no header or share one with pure names. A name before "("
# is a call.
_CALLS = {
    "the clock": ("time", "gettimeofday", "clock_gettime", "localtime", "localtime_r", "sleep", "usleep", "nanosleep"),
    "files": ("fopen", "freopen", "fread", "fwrite", "remove_all", "tmpfile", "mkstemp"),
    "the environment": ("getenv", "secure_getenv", "setenv", "unsetenv", "putenv"),
    "the terminal": ("printf", "vprintf", "fprintf", "vfprintf", "puts", "fputs", "putchar"),
    "processes": ("kill", "fork", "system", "popen", "raise"),
    "randomness": ("rand", "srand", "random", "getrandom", "getentropy", "arc4random"),
}
_CALLS = {name: what for what, names in _CALLS.items() for name in names}
_NAMES = {
    "system_clock": "the clock", "steady_clock": "the clock", "high_resolution_clock": "the clock",
    "random_device": "randomness", "BitGen": "randomness", "InsecureBitGen": "randomness",
    "environ": "the environment", "thread_local": "threads",
}


def is_core(path):
    return "core" in path.split("/")[:-1] and not path.endswith("_test.cc")


def _impure(tree, path):
    """Returns (line, description) for each use of the world in one file."""
    for line, header in includes(tree, path):
        for what, pattern in _HEADERS.items():
            if pattern.match(header):
                yield line, f"{what} (<{header}>)"
    code = [token for token in tree.tokens(path) if is_code(token)]
    for before, token, after in zip([None] + code, code, code[1:] + [None]):
        if token.kind != "name":
            continue
        if token.text in _NAMES:
            yield token.line, f"{_NAMES[token.text]} ({token.text})"
        elif token.text in _CALLS and after and after.text == "(" and _is_global(before):
            yield token.line, f"{_CALLS[token.text]} ({token.text}())"
        elif token.text == "Now" and before and before.text == "::":
            yield token.line, "the clock (Now())"


def _is_global(before):
    """Returns true for a call of a function outside of classes. A member's call has a "." before the name, and a
    declaration has a type there."""
    if before is None or before.text in (".", "->", "~", ">", "&", "*"):
        return False
    return before.kind != "name" or before.text in ("return", "else", "do", "co_return", "throw")


def _reached(tree, path):
    """Returns our own files that `path` depends on, itself included, each with the chain of includes that leads to it."""
    chains, waiting = {path: [path]}, [path]
    while waiting:
        file = waiting.pop(0)
        further = [header for _, header in includes(tree, file) if header in tree]
        if file != path and companion(tree, file):
            further.append(companion(tree, file))
        for other in further:
            if other not in chains:
                chains[other] = chains[file] + [other]
                waiting.append(other)
    return chains


def faults(tree):
    found = {}
    impure = {}
    for path in filter(is_core, tree.paths(".cc", ".h", ".c")):
        for file, chain in _reached(tree, path).items():
            if file not in impure:
                impure[file] = list(_impure(tree, file))
            for line, what in impure[file]:
                # The report shows one chain, the shortest.
                if len(chain) < len(found.get((file, line, what), chain + [""])):
                    found[file, line, what] = chain
    return [f"{file}:{line}: {what}" + (f", through {' -> '.join(chain[:-1])}" if len(chain) > 1 else "")
            for (file, line, what), chain in sorted(found.items())]
