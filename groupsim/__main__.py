"""The entry point of the command and of `python -m groupsim`. It imports little, so that ctrl-C works at once."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command. An interrupt during the imports ends in one line, without a traceback of import statements."""
    try:
        from groupsim.eventloop.collector import patient_collector

        with patient_collector():  # the imports make a hundred thousand objects that stay, and little garbage
            from groupsim.cli.app import main as command

            try:
                command()
            finally:
                gc.freeze()  # the process ends: Python's last search would visit every module's objects once more
    except KeyboardInterrupt:
        print("groupsim: interrupted", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
