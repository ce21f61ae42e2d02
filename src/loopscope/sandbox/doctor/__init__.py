"""Doctor: what this machine can do, what each missing piece costs, and the command that mends it.

Public: `checks`, `examine`, `Survey`, `Finding`, `State`, `Need`, `Area`, `Check`, `Machine`. Works without Harbor.
"""

from loopscope.sandbox.doctor.catalog import checks
from loopscope.sandbox.doctor.finding import Area, Check, Finding, Need, State
from loopscope.sandbox.doctor.machine import Machine
from loopscope.sandbox.doctor.survey import Survey, examine
from loopscope.sandbox.doctor.timing import machine_memory, processors

__all__ = [
    "Area",
    "Check",
    "Finding",
    "Machine",
    "Need",
    "State",
    "Survey",
    "checks",
    "examine",
    "machine_memory",
    "processors",
]
