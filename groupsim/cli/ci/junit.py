"""Results as JUnit XML: a suite for each file or scenario, a case for each finding or expectation.

Source: the format that Jenkins, GitLab and pytest share (testsuites, testsuite, testcase, failure, error).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from groupsim.protocol.values import frozen

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@frozen
class Case:
    """One test case: `failure` is why it does not hold, `error` why it could not be judged; else they are empty."""

    name: str
    failure: str = ""
    error: str = ""
    file: str = ""
    line: int = 0


@frozen
class Suite:
    """The cases of one file or scenario."""

    name: str
    cases: tuple[Case, ...]


def junit(suites: Sequence[Suite]) -> str:
    """Return the suites as an XML document."""
    every = [case for suite in suites for case in suite.cases]
    root = ElementTree.Element("testsuites", {"name": "groupsim", **_counts(every)})
    for suite in suites:
        node = ElementTree.SubElement(root, "testsuite", {"name": _text(suite.name), **_counts(suite.cases)})
        for case in suite.cases:
            place = {"file": _text(case.file), "line": str(case.line)} if case.file and case.line else {}
            names = {"classname": _text(suite.name), "name": _text(case.name)}
            one = ElementTree.SubElement(node, "testcase", {**names, **place})
            for kind, text in (("failure", case.failure), ("error", case.error)):
                if text:
                    ElementTree.SubElement(one, kind, message=_text(text.splitlines()[0])).text = _text(text)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _counts(cases: Iterable[Case]) -> dict[str, str]:
    found = list(cases)
    return {
        "tests": str(len(found)),
        "failures": str(sum(bool(case.failure) for case in found)),
        "errors": str(sum(bool(case.error) for case in found)),
    }


def _text(text: str) -> str:
    """Replace characters that XML does not permit."""
    return _NOT_XML.sub("�", text)
