"""How one case with one client ended, kept as JSON for the table (`tools/interop_table.py`)."""

from __future__ import annotations

import json
import time
from pathlib import Path

import kafka_jars
import pytest

from tests.helpers.unavailable import unavailable
from tests.interop.bench import Bench
from tests.interop.cases import CASES, Case
from tests.interop.cli_cases import CLI_CASES
from tests.interop.clients import Client
from tests.interop.consumer_cases import CONSUMER_CASES
from tests.interop.members import Unsupported
from tests.interop.peers import CannotHere, Peer
from tests.interop.rolling_cases import ROLLING_CASES

OUTCOMES = Path(__file__).parents[2] / ".build" / "interop"

ORDER = {case.name: number for number, case in enumerate((*CASES, *CONSUMER_CASES, *ROLLING_CASES, *CLI_CASES))}
OK, NOT_OFFERED, SKIPPED, FAILED = "ok", "not offered", "skipped", "FAILED"


def play(case: Case, client: Client, peer: Peer, folder: Path) -> None:
    """Play a case and keep how it ended. Skips what the client does not have and what cannot be had here."""
    began = time.monotonic()

    def ended(outcome: str, reason: str = "") -> None:
        keep(peer.name, client, case, outcome, reason, time.monotonic() - began)

    try:
        with Bench(client, peer, case.name, folder) as bench:
            case.play(bench)
    except Unsupported as what:
        ended(NOT_OFFERED, str(what))
        pytest.skip(f"{client.name} does not offer {what}")
    except kafka_jars.Unavailable as why:
        ended(SKIPPED, str(why))
        unavailable(why, client.needs)
    except CannotHere as why:
        ended(SKIPPED, str(why))
        pytest.skip(str(why))
    except BaseException as error:
        ended(FAILED, str(error).splitlines()[0] if str(error) else type(error).__name__)
        raise
    ended(OK)


def keep(peer: str, client: Client, case: Case, outcome: str, reason: str, seconds: float) -> None:
    """Write one outcome, beside those of other clients and cases."""
    path = OUTCOMES / peer / f"{client.name}.{case.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    row = {
        "client": client.name,
        "version": client.version,
        "case": case.name,
        "says": case.says,
        "order": ORDER.get(case.name, len(ORDER)),
        "outcome": outcome,
        "reason": reason,
        "seconds": round(seconds, 1),
    }
    path.write_text(json.dumps(row, indent=1) + "\n", "utf-8")
