"""Tasks: read Harbor task directories, put them into a study, and the built-in suite."""

from loopscope.tasks.catalog import TaskSource, builtin_names, resolve
from loopscope.tasks.errors import TaskError
from loopscope.tasks.load import TaskReading, load_task, read_task
from loopscope.tasks.prepare import prepare_task, prepared_dir, verifier_hash

__all__ = [
    "TaskError",
    "TaskReading",
    "TaskSource",
    "builtin_names",
    "load_task",
    "prepare_task",
    "prepared_dir",
    "read_task",
    "resolve",
    "verifier_hash",
]
