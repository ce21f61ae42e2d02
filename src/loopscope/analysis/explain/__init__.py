"""How each number of a run came about, step by step, made of the objects that its tables are made of."""

from loopscope.analysis.explain.build import Part, explain, selected
from loopscope.analysis.explain.finding import explain_run, find_checkpoint
from loopscope.analysis.explain.model import Explanation
from loopscope.analysis.explain.told import Step
from loopscope.analysis.explain.walk import steps_of

__all__ = ["Explanation", "Part", "Step", "explain", "explain_run", "find_checkpoint", "selected", "steps_of"]
