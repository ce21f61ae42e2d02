"""What each measure means, in the report's own words: `glossary.yaml`, read and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from loopscope.report import format as fmt

_FORMATS = {"score": fmt.score, "percent": fmt.percent, "rate": fmt.rate, "count": fmt.count}


class Term(BaseModel):
    """One measure or word of the report."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    """Name in tables and anchor on the definitions page."""
    name: str
    shows: str
    """One sentence: what it tells."""
    not_shows: str = ""
    """One sentence: what it must not be read as."""
    formula: str = ""
    format: Literal["score", "percent", "rate", "count"] = "score"
    """How its values are written."""
    missing: str = "no run of this agent has a value"
    """Why a value is typically absent."""
    section: str = ""
    """Where the paper defines it."""
    group: str = ""
    """Group of columns among the diagnostics."""

    def show(self, value: float | None) -> str:
        """A value of this measure as a reader sees it."""
        return _FORMATS[self.format](value)


class Glossary(BaseModel):
    """All of `glossary.yaml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: tuple[Term, ...]
    process: tuple[Term, ...]
    diagnostics: tuple[Term, ...]
    words: tuple[Term, ...]
    groups: tuple[str, ...]
    """Groups of the diagnostics, in their order."""
    flags: dict[str, str] = Field(default_factory=dict)
    """The measures' remarks on a run, spelled out; other remarks are shown as they stand."""


_GLOSSARY = Glossary.model_validate(
    yaml.safe_load(Path(__file__).with_name("glossary.yaml").read_text(encoding="utf-8"))
)
OUTCOME, PROCESS, DIAGNOSTICS, WORDS = _GLOSSARY.outcome, _GLOSSARY.process, _GLOSSARY.diagnostics, _GLOSSARY.words
GROUPS, FLAGS = _GLOSSARY.groups, _GLOSSARY.flags
MEASURES = {term.key: term for term in (*PROCESS, *DIAGNOSTICS)}


def term(key: str) -> Term:
    """The entry of a measure; an unknown one is shown by its name in the table."""
    shows = "A measure this report has no description of."
    return MEASURES.get(key) or Term(key=key, name=key, shows=shows, group="Other")
