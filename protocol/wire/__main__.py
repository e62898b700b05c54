"""`python -m groupsim.protocol.wire` prints the table of APIs, as it stands in the documentation."""

from __future__ import annotations

from groupsim.protocol.wire.apis import markdown

print(markdown())
