"""Small logs made by hand: page exports of a run, Harbor's job directories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from log_seeds import answer, page, said, seeds

PUBLIC = Path(__file__).parents[3] / "shared" / "data" / "trajectories"
"""Public transcripts, where they are at hand."""


def page_log(path: Path, text: str = "Do it.", **about: Any) -> Path:
    """A page export with one user message and one command."""
    path.parent.mkdir(parents=True, exist_ok=True)
    call = said(("c1", "Bash", {"command": "ls"}))
    path.write_bytes(page({"role": "user", "content": text}, call, answer("c1", "a.py"), **about))
    return path


def harbor_job(folder: Path, *trials: str) -> Path:
    """A job of Harbor's; of each trial a trajectory, or (its name ends in `-broken`) what is none."""
    trajectory = next(seed.data for seed in seeds() if seed.format == "atif")
    for name in trials:
        agent = folder / name / "agent"
        agent.mkdir(parents=True)
        about = {"task_name": f"org/{name.split('__')[0]}", "trial_name": name, "agent_info": {"name": "an-agent"}}
        (folder / name / "result.json").write_text(json.dumps(about))
        (agent / "trajectory.json").write_bytes(b"\0" if name.endswith("-broken") else trajectory)
    return folder
