"""Commits what another process staged, each time in a fork of this process that dies where it is told to.

A line of standard input is a file and a point. The fork answers `ready` with its id and, for the point `random`, waits
for one more line; this process answers how the fork ended. A fork starts in no time, for everything is imported here.
"""

import os
import pickle
import signal
import sys
import time
from pathlib import Path

from daybook.io.registry import writer_for
from daybook.io.writer import no_fence


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def commit(package: str, point: str) -> None:
    staged, target = pickle.loads(Path(package).read_bytes())
    writer = writer_for(target.format)
    say("ready", os.getpid())
    if point == "random":
        sys.stdin.readline()
    writer.commit(staged, target, (lambda _: die()) if point == "fence" else no_fence)
    if point == "after":
        die()


def main() -> None:
    for format_ in sys.argv[1:]:
        writer_for(format_)
    for line in sys.stdin:
        package, _, point = line.strip().rpartition(" ")
        fork = os.fork()
        if fork == 0:
            try:
                commit(package, point)
            except BaseException as failure:
                say("failed", repr(failure))
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(fork, 0)
        say("ended", os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
