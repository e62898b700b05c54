"""A small writer of SVG pictures that a page can show as an image: colours for light and for dark, text as text."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

LIGHT = {
    "page": "#ffffff",
    "text": "#1b1f24",
    "quiet": "#57606a",
    "line": "#8c959f",
    "grid": "#e4e7eb",
    "raised": "#f4f5f7",
    "accent": "#0b5cad",
    "bad": "#b3261e",
    "idle": "#e3e6ea",
    "joining": "#7fb0e6",
    "syncing": "#b9dcf7",
    "working": "#8fd3bb",
    "ink": "#12211b",
    "callback": "#c3a6e8",
    "paused": "#d9a400",
    "dead": "#5c6670",
}
DARK = {
    "page": "#14181d",
    "text": "#e8ebef",
    "quiet": "#a5afba",
    "line": "#6b7682",
    "grid": "#2b323a",
    "raised": "#20262d",
    "accent": "#7db8f5",
    "bad": "#ff8a7d",
    "idle": "#2c343d",
    "joining": "#6ea4df",
    "syncing": "#a9d0ef",
    "working": "#58b598",
    "ink": "#08130e",
    "callback": "#b79ae0",
    "paused": "#e0b130",
    "dead": "#98a3ae",
}


class Picture:
    """An SVG document. Coordinates are pixels; `colour` arguments are names of LIGHT and DARK."""

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self.width, self.height = width, height
        self._title, self._description = title, description
        self._parts: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, colour: str, *, radius: int = 2) -> None:
        """A filled box."""
        self._add("rect", x=_n(x), y=_n(y), width=_n(max(width, 1)), height=_n(height), rx=str(radius), fill=_c(colour))

    def frame(self, x: float, y: float, width: float, height: float, colour: str, *, radius: int = 6) -> None:
        """A box of the page's colour with a border."""
        box = {"x": _n(x), "y": _n(y), "width": _n(width), "height": _n(height), "rx": str(radius)}
        self._add("rect", **box, fill=_c("page"), stroke=_c(colour), stroke_width="1.5")

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, *, dashed: bool = False) -> None:
        """A thin line."""
        dash = {"stroke_dasharray": "3 3"} if dashed else {}
        self._add("line", x1=_n(x1), y1=_n(y1), x2=_n(x2), y2=_n(y2), stroke=_c(colour), **dash)

    def arrow(self, path: str, colour: str = "line") -> None:
        """A line along an SVG path, with a head at its end."""
        self._add("path", d=path, fill="none", stroke=_c(colour), stroke_width="1.5", marker_end="url(#head)")

    def text(
        self, x: float, y: float, text: str, colour: str = "text", *, size: int = 13, anchor: str = "start",
        bold: bool = False,
    ) -> None:  # fmt: skip
        """One line of text; `y` is its base line, `anchor` start, middle or end."""
        weight = {"font_weight": "600"} if bold else {}
        place = {"x": _n(x), "y": _n(y), "font_size": str(size), "text_anchor": anchor, "fill": _c(colour)}
        self._add("text", **place, **weight, content=text)

    def _add(self, tag: str, content: str | None = None, **attributes: str) -> None:
        written = "".join(f" {name.replace('_', '-')}={quoteattr(value)}" for name, value in attributes.items())
        self._parts.append(f"<{tag}{written}/>" if content is None else f"<{tag}{written}>{escape(content)}</{tag}>")

    def __str__(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img" font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif">'
        )
        yield f"<title>{escape(self._title)}</title>"
        yield f"<desc>{escape(self._description)}</desc>"
        dark = "".join(f"--{name}:{value};" for name, value in DARK.items())
        light = "".join(f"--{name}:{value};" for name, value in LIGHT.items())
        yield f"<style>:root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}</style>"
        yield (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{_c("line")}"/></marker></defs>'
        )
        yield f'<rect width="100%" height="100%" rx="8" fill="{_c("page")}"/>'
        yield from self._parts
        yield "</svg>"


def _c(colour: str) -> str:
    return f"var(--{colour})"


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")
