"""Write docs/openapi.json, the document of the control port, from the code that serves it.

python tools/openapi_document.py
"""

from __future__ import annotations

import json
from pathlib import Path

from groupsim.serving.openapi import document

PAGE = Path(__file__).resolve().parent.parent / "docs" / "openapi.json"


def main() -> None:
    """Write the page."""
    PAGE.write_text(json.dumps(document(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
