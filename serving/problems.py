"""Errors of the control port as RFC 9457 documents: `application/problem+json` with the error and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

CONTENT_TYPE = "application/problem+json"


class Problem(Exception):
    """An impossible request: the HTTP status, a short title, the detail, and the remedy."""

    def __init__(self, status: int, title: str, detail: str = "", *, remedy: str = "", **more: Any) -> None:
        super().__init__(f"{title}: {detail}" if detail else title)
        self.status = status
        self.title = title
        self.detail = detail
        self.remedy = remedy
        self.more = more

    def document(self) -> dict[str, Any]:
        """Return the body of the answer; empty members are left out."""
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
    """Return the error of a body that is no step: each mistake with its JSON pointer, its message and its remedy."""
    errors = [{"pointer": pointer, "message": message, "remedy": remedy} for pointer, message, remedy in found]
    detail = "; ".join(message for _, message, _ in found)
    remedy = "; ".join(dict.fromkeys(remedy for _, _, remedy in found if remedy))
    title = "this step has a mistake" if len(found) < 2 else f"this step has {len(found)} mistakes"
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, title, detail, remedy=remedy, errors=errors)


def conflict(error: Exception) -> Problem:
    """Return the error of a valid request that the present state does not allow."""
    words = str(error.args[0]) if error.args else type(error).__name__
    detail, _, remedy = words.partition("; ")
    return Problem(HTTPStatus.CONFLICT, "not in the present state", detail, remedy=remedy)
