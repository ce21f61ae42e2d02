"""`search`: a real optimizer that needs no model, and a study's control arm. The loop is in `loop.py`."""

from loopscope.agents.search.agent import SearchAgent

__all__ = ["SearchAgent"]
