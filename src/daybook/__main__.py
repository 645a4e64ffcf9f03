"""Runs the program `daybook`, also as `python -m daybook`."""

import os
import sys

from daybook.cli.server.handover import hand_over


def main() -> int:
    """The exit code of the command line that this process was started with."""
    code = hand_over()
    if code is not None:
        return code
    # Daybook has no plugins of pydantic, and looking for some reads the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from daybook.cli.app import main as execute

    return execute()


if __name__ == "__main__":
    sys.exit(main())
