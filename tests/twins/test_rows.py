"""docs/fidelity/members.toml names the rows of which the real client is the judge."""

from __future__ import annotations

from tests.helpers.fidelity_rows import pages, rows
from tests.twins.clients import LIBRDKAFKA
from tests.twins.rows import OF_LIBRDKAFKA, ROWS, marked
from tests.twins.stories import ALL


def test_rows_are_shown_by_stories_that_are_told_and_equal() -> None:
    """Every story that a row names is there, and the simulated consumer does what the real one does in it."""
    equal = {story.name for story in ALL if not story.differs}
    assert {name for stories in ROWS.values() for name in stories} <= equal


def test_rows_of_librdkafka_are_shown_by_stories_that_it_plays_and_that_are_equal() -> None:
    """As of Java, in the stories as librdkafka plays them."""
    played = [story for story in map(LIBRDKAFKA.fitted, ALL) if story is not None]
    equal = {story.name for story in played if not story.differs}
    assert {name for stories in OF_LIBRDKAFKA.values() for name in stories} <= equal


def test_rows_stand_in_the_document() -> None:
    """No row is judged that the document does not have."""
    assert {*ROWS, *OF_LIBRDKAFKA} - {row.cell for row in rows()} == set()


def test_the_column_is_what_the_stories_say() -> None:
    """The column `live` follows from the stories: `python -m tests.twins.rows` writes it."""
    assert marked(pages()) == pages()
