"""Others' tasks: fetched, checked one by one, kept in a library directory, with what could be read about each."""

from loopscope.tasks.intake.fetch import Source, opened
from loopscope.tasks.intake.formula import mismatches, read_scoring
from loopscope.tasks.intake.library import RECORD, Naming, find_tasks, take
from loopscope.tasks.intake.needs import slower_here, static_obstacles
from loopscope.tasks.intake.records import (
    Form,
    Intake,
    Mismatch,
    Obstacle,
    ObstacleKind,
    Scoring,
    State,
    Taken,
    ToolchainFact,
)

__all__ = [
    "RECORD",
    "Form",
    "Intake",
    "Mismatch",
    "Naming",
    "Obstacle",
    "ObstacleKind",
    "Scoring",
    "Source",
    "State",
    "Taken",
    "ToolchainFact",
    "find_tasks",
    "mismatches",
    "opened",
    "read_scoring",
    "slower_here",
    "static_obstacles",
    "take",
]
