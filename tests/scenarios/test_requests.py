"""Requests made by hand: what is wrong with their parts is said, with the fields there are."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.scenarios.requests import make_request


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"partition": "t-0", "offset": 1, "error": "x"}, "OffsetToCommit has no field `error`; its fields: partition"),
        ({"offset": 1}, "OffsetToCommit needs `partition`"),
    ],
)
def test_a_part_with_wrong_fields_is_refused(part: dict[str, Any], words: str) -> None:
    """A field too many or too few is an error of the file, not of the program."""
    with pytest.raises(ValueError, match=words):
        make_request("OffsetCommit", "g", {"offsets": [part]})
