"""Errors of the control port, as RFC 9457 has them: `application/problem+json` with what was wrong and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

CONTENT_TYPE = "application/problem+json"


class Problem(Exception):
    """A request that cannot be done: the HTTP status, a short title, what was found, and the remedy."""

    def __init__(self, status: int, title: str, detail: str = "", *, remedy: str = "", **more: Any) -> None:
        super().__init__(f"{title}: {detail}" if detail else title)
        self.status = status
        self.title = title
        self.detail = detail
        self.remedy = remedy
        self.more = more

    def document(self) -> dict[str, Any]:
        """The body of the answer; members that say nothing are left out."""
        body = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "remedy": self.remedy,
            **self.more,
        }
        return {name: value for name, value in body.items() if value not in ("", None)}


def invalid(found: Sequence[tuple[str, str, str]]) -> Problem:
    """A body that cannot be read as a step: each mistake with its JSON pointer, its message and its remedy."""
    errors = [{"pointer": pointer, "message": message, "remedy": remedy} for pointer, message, remedy in found]
    detail = "; ".join(message for _, message, _ in found)
    remedy = "; ".join(dict.fromkeys(remedy for _, _, remedy in found if remedy))
    title = "this step has a mistake" if len(found) < 2 else f"this step has {len(found)} mistakes"
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, title, detail, remedy=remedy, errors=errors)


def conflict(error: Exception) -> Problem:
    """What was asked for makes sense, but not as things stand."""
    words = str(error.args[0]) if error.args else type(error).__name__
    detail, _, remedy = words.partition("; ")
    return Problem(HTTPStatus.CONFLICT, "not as things stand", detail, remedy=remedy)
