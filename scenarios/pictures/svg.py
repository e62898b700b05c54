"""A small writer of SVG pictures that a page can show as an image: colours for light and for dark, text as text.

The colours are CSS variables of the picture, with another value where the reader prefers dark. All text has at least
`SIZE` pixels: a picture of 640 pixels that is shown with a width of 400 still has letters of 10.
"""

from __future__ import annotations

import re
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
    "idle": "#3a444f",
    "joining": "#6ea4df",
    "syncing": "#a9d0ef",
    "working": "#58b598",
    "ink": "#08130e",
    "callback": "#b79ae0",
    "paused": "#e0b130",
    "dead": "#98a3ae",
}


SIZE = 16
"""The size of text, in pixels."""
LETTER = 0.55
"""The width of a letter, on average, as a part of its size; of the fonts that SVG viewers take."""

_NUMBER = re.compile(r"(\d) ((?:s|ms|µs|min|h)\b)")
_NO_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF), "\ufffd")


BOLD = 1.13  # how much wider than others bold letters are


def width_of(text: str, size: float = SIZE) -> float:
    """About how wide a text is drawn, in pixels."""
    return LETTER * size * len(text)


def folded(text: str, width: float, size: float = SIZE) -> list[str]:
    """The text in lines that are about so many pixels wide at most; a longer word has a line of its own.

    A number stays with its unit of time.
    """
    lines: list[str] = []
    for word in _NUMBER.sub("\\1\u00a0\\2", text).split(" "):
        if lines and width_of(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def cut(text: str, width: float) -> str:
    """The text, or as much of it as has room, with an ellipsis."""
    most = max(int(width / (LETTER * SIZE)), 2)
    return text if len(text) <= most else f"{text[: most - 1]}…"


class Picture:
    """An SVG document. Coordinates are pixels; `colour` arguments are names of LIGHT and DARK.

    `height` may be set until the picture is written.
    """

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self.width, self.height = width, height
        self._title, self._description, self._style = title, description, ""
        self._parts: list[str] = []

    def rect(
        self, x: float, y: float, width: float, height: float, colour: str, *, radius: int = 2, hint: str = ""
    ) -> None:
        """A filled box, at least a pixel wide; a browser shows the hint where the mouse rests on it."""
        box = {"x": _n(x), "y": _n(y), "width": _n(max(width, 1)), "height": _n(height), "rx": str(radius)}
        self._add("rect", **box, fill=_c(colour), hint=hint)

    def begin(self, css: str, **properties: str) -> None:
        """Begin a group of parts with this CSS class; the properties are of CSS, with `_` for `-`."""
        style = ";".join(f"{name.replace('_', '-')}:{value}" for name, value in properties.items())
        written = f" style={quoteattr(style)}" if style else ""
        self._parts.append(f"<g class={quoteattr(css)}{written}>")

    def end(self) -> None:
        """End the group that was begun last."""
        self._parts.append("</g>")

    def dot(self, x: float, y: float, radius: float, colour: str) -> None:
        """A filled circle."""
        self._add("circle", cx=_n(x), cy=_n(y), r=_n(radius), fill=_c(colour))

    def frame(self, x: float, y: float, width: float, height: float, colour: str, *, radius: int = 6) -> None:
        """A box of the page's colour with a border."""
        box = {"x": _n(x), "y": _n(y), "width": _n(width), "height": _n(height), "rx": str(radius)}
        self._add("rect", **box, fill=_c("page"), stroke=_c(colour), stroke_width="1.5")

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, *, dashed: bool = False) -> None:
        """A thin line."""
        look = {"stroke_dasharray": "3 3"} if dashed else {}
        self._add("line", x1=_n(x1), y1=_n(y1), x2=_n(x2), y2=_n(y2), stroke=_c(colour), **look)

    def arrow(self, path: str, colour: str = "line") -> None:
        """A line along an SVG path, with a head at its end."""
        self._add("path", d=path, fill="none", stroke=_c(colour), stroke_width="1.5", marker_end="url(#head)")

    def text(
        self, x: float, y: float, text: str, colour: str = "text", *, size: int = SIZE, anchor: str = "start",
        bold: bool = False, halo: bool = False,
    ) -> None:  # fmt: skip
        """One line of text; `y` is its base line, `anchor` start, middle or end. A halo keeps lines below away."""
        look = {"font_weight": "600"} if bold else {}
        if halo:
            look |= {"stroke": _c("page"), "stroke_width": "4", "paint_order": "stroke"}
        place = {"x": _n(x), "y": _n(y), "font_size": str(size), "text_anchor": anchor, "fill": _c(colour)}
        self._add("text", **place, **look, content=text)

    def set_style(self, style: str) -> None:
        """CSS of the picture's own, for classes of `begin`."""
        self._style = style

    def add(self, other: Picture) -> None:
        """Draw another picture over this one."""
        self._parts += other._parts

    def _add(self, tag: str, content: str = "", hint: str = "", **attributes: str) -> None:
        written = "".join(f" {name.replace('_', '-')}={quoteattr(value)}" for name, value in attributes.items())
        inner = f"<title>{_xml(hint)}</title>" if hint else _xml(content)
        self._parts.append(f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>")

    def __str__(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img" font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif">'
        )
        yield f"<title>{_xml(self._title)}</title>"
        yield f"<desc>{_xml(self._description)}</desc>"
        dark = "".join(f"--{name}:{value};" for name, value in DARK.items())
        light = "".join(f"--{name}:{value};" for name, value in LIGHT.items())
        yield f"<style>:root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{self._style}</style>"
        yield (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{_c("line")}"/></marker></defs>'
        )
        yield f'<rect width="100%" height="100%" rx="8" fill="{_c("page")}"/>'
        yield from self._parts
        yield "</svg>"


def _c(colour: str) -> str:
    return f"var(--{colour})"


def _xml(text: str) -> str:
    """The text as XML, without the characters that XML does not have."""
    return escape(text.translate(_NO_XML))


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")
