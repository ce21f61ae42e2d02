"""`tasks list`."""

from __future__ import annotations

from pathlib import Path

from loopscope.cli.console import out, print_json, verb
from loopscope.cli.reading import Json
from loopscope.cli.tables import plain_table


@verb
def tasks_list(json: Json = False) -> None:
    """The built-in tasks, with family, budget and what they measure."""
    from loopscope.tasks.catalog import builtin_names, resolve
    from loopscope.tasks.load import load_task

    infos = [load_task(resolve(name, Path()).directory, builtin=True) for name in builtin_names()]
    if json:
        print_json([info.model_dump(mode="json") for info in infos])
        return
    rows = [
        [i.name, i.category, i.anchors.metric or "", "timed" if i.timed else "", f"{i.agent_timeout_sec:g} s", i.title]
        for i in infos
    ]
    out.print(plain_table(["task", "family", "metric", "", "budget", "title"], rows))
