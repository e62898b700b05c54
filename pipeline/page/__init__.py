"""Pages: one run, or a whole sweep, as one HTML file that opens anywhere, offline too."""

from __future__ import annotations

from groupsim.pipeline.page.assembly import PageError
from groupsim.pipeline.page.assumed import assumed
from groupsim.pipeline.page.lag_line import lag_lines
from groupsim.pipeline.page.one_run import run_page
from groupsim.pipeline.page.whole_sweep import sweep_page

__all__ = ["PageError", "assumed", "lag_lines", "run_page", "sweep_page"]
