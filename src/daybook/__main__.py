"""Runs the program `daybook`, also as `python -m daybook`."""

import sys

from daybook.cli.handover import hand_over


def main() -> int:
    """The exit code of the command line that this process was started with."""
    code = hand_over()
    if code is not None:
        return code
    from daybook.cli.app import main as execute

    return execute()


if __name__ == "__main__":
    sys.exit(main())
