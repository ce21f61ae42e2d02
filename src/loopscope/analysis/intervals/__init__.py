"""The tables that say how sure the numbers of the other tables are: intervals, comparisons, rankings, noise.

They rest on `loopscope.measures.uncertainty`, and so load numpy, which nothing else of the analysis does.
"""

from loopscope.analysis.intervals.build import interval_tables
from loopscope.analysis.intervals.figures import figures_of
from loopscope.analysis.intervals.further import paired_finals, task_ends
from loopscope.analysis.intervals.samples import score_sample

__all__ = ["figures_of", "interval_tables", "paired_finals", "score_sample", "task_ends"]
