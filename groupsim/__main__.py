"""What the command starts with, and `python -m groupsim`: so light that ctrl-C is heard from the first moment."""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point of the command. Most of its start is importing, and nobody wants to read where that stood."""
    try:
        from groupsim.cli.app import main as command

        command()
    except KeyboardInterrupt:
        print("groupsim: interrupted", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
