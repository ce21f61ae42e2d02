"""Planted habits go through the whole product, and the measures that should find them do, the others stay."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from loopscope.agents.registry import find_agent
from loopscope.analysis.build import analyze
from loopscope.engine.events import silent
from loopscope.engine.plan import plan_study
from loopscope.engine.study import run_study
from loopscope.models import StudySpec

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

DIALS = "HEIGHT = 3\nWIDTH = 40\nDEPTH = 7\nSPEED = 900\n\n\ndef volume():\n    return (HEIGHT * WIDTH) * DEPTH\n"
SCORE = """import math, dials
found = [(dials.HEIGHT, 48), (dials.WIDTH, 10), (dials.DEPTH, 28), (dials.SPEED, 220)]
score = sum(max(0, 1 - abs(math.log2(max(have, 1e-9) / want)) / 4) for have, want in found) / 4
"""
INSTRUCTION = """# Dials

You may edit `dials.py`.

## Local evaluation

```sh
python3 evaluate.py
```

It prints `score: X`, higher is better.
"""
ARMS = {
    "builds-0": {"recovery_delay": 0},
    "builds-7": {"recovery_delay": 0, "build_failures": 0.7},
    "unseen-7": {"recovery_delay": 0, "build_failures": 0.7, "hidden": 1.0},
    "delay-3": {"recovery_delay": 3},
    "first-worst": {"first_move": "worst"},
    "first-best": {"first_move": "best"},
}
SEED = 2


@pytest.fixture(autouse=True)
def study_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


def test_the_published_design_is_one_that_a_study_takes() -> None:
    from known_groups.design import load_design, study_text

    design = load_design()
    study = StudySpec.model_validate(yaml.safe_load(study_text(design, ["addition_chains"], [1, 2], 2)))
    assert [agent.label for agent in study.agents] == list(design.agents)
    for agent in study.agents:
        find_agent(agent)
    plants: dict[str, object] = {}
    for factor in design.factors:
        assert len(factor.levels) >= 3
        for level in factor.levels:
            assert plants.setdefault(level.label, level.plant) == level.plant, "one label, one plant"


def test_effects_are_paired_by_task_and_seed_and_tasks_count_equally() -> None:
    from known_groups.design import Factor
    from known_groups.effects import effect

    levels = [{"label": label, "value": i} for i, label in enumerate(("none", "some", "much"))]
    factor = Factor.model_validate({"name": "f", "meaning": "", "moves": {}, "levels": levels})
    values = {
        ("t", label, seed): seed + dose for seed in (1, 5, 9) for label, dose in (("none", 0), ("some", 1), ("much", 3))
    }
    alone = effect(factor, "c1", values)
    assert (alone.means, alone.difference, alone.low, alone.high, alone.pairs) == ((5, 6, 8), 3, 3, 3, 3)
    assert alone.shown
    assert alone.monotone
    # A second task with one complete seed, where nothing moves; its other seed lacks a level and counts nowhere.
    values |= {("u", label, 1): 4 for label in ("none", "some", "much")} | {("u", "none", 2): 100}
    both = effect(factor, "c1", values)
    assert (both.means, both.difference, both.pairs) == ((4.5, 5, 6), 1.5, 4)
    assert effect(factor, "c1", values, "u").monotone is False
    mixed = effect(
        factor, "c1", {("t", label, s): s * d for s in (-1, 1) for label, d in (("none", 0), ("some", 1), ("much", 3))}
    )
    assert mixed.low == -3
    assert mixed.high == 3
    assert not mixed.shown
    nothing = effect(factor, "c1", {("t", "none", 1): 1.0})
    assert (nothing.difference, nothing.monotone, nothing.pairs) == (None, None, 0)


def dials_task(folder: Path) -> Path:
    """A task without noise: four numbers, each with a best value."""
    (folder / "environment").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "task.toml").write_text(
        'version = "1.0"\n[metadata]\ndomain = "toy"\n[metadata.loopscope]\ntimed = false\neditable = ["dials.py"]\n'
        "[agent]\ntimeout_sec = 60.0\n[verifier]\ntimeout_sec = 20.0\n[environment]\nallow_internet = false\n"
    )
    (folder / "instruction.md").write_text(INSTRUCTION)
    (folder / "environment/Dockerfile").write_text(
        "FROM debian:12\nWORKDIR /app\nCOPY dials.py evaluate.py ./\nRUN apt-get install -y python3\n"
    )
    (folder / "environment/dials.py").write_text(DIALS)
    (folder / "environment/evaluate.py").write_text(f"{SCORE}print('score:', score)\n")
    (folder / "tests/verify.py").write_text(
        f"import sys\nsys.path.insert(0, '/app')\n{SCORE}"
        "import json\njson.dump({'reward': score}, open('/logs/verifier/reward.json', 'w'))\n"
    )
    (folder / "tests/test.sh").write_text("python3 /tests/verify.py\n")
    return folder


@pytest.mark.sandbox
@pytest.mark.slow
def test_planted_habits_move_the_measures_that_they_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPSCOPE_LOCK_DIR", str(tmp_path))
    from known_groups.design import Design, study_text
    from known_groups.effects import counted, read_values

    dials_task(tmp_path / "dials")
    levels = [{"label": label, "value": 0, "plant": plant} for label, plant in ARMS.items()]
    factor = {"name": "all", "meaning": "", "moves": {}, "levels": levels}
    design = Design.model_validate({"rounds": 8, "agent_sec": 60, "factors": [factor]})
    file = tmp_path / "s.yaml"
    file.write_text(study_text(design, ["./dials"], [SEED], 2))
    plan = plan_study(file, tmp_path / "study")
    asyncio.run(run_study(plan, silent))
    analyze(tmp_path / "study")
    values = read_values([tmp_path / "study"])

    def found(measure: str, label: str) -> float:
        return values[measure]["dials", label, SEED]

    # Failing builds: C2 falls, and nothing else, since the commits are the same.
    assert found("c2", "builds-0") == 1
    assert found("c2", "builds-7") < 0.9
    for measure in ("c1", "c3", "final_score", "dip_rate"):
        assert found(measure, "builds-7") == found(measure, "builds-0")
    # Out of the transcript's sight they cost nothing, and are what the agent says that they were.
    assert found("c2", "unseen-7") == 1
    census = {part.label: part for part in counted(design, [tmp_path / "study"])}
    assert census["builds-7"].counted_failures == census["builds-7"].open_failures > 4
    assert census["unseen-7"].counted_failures == 0
    assert census["unseen-7"].hidden_failures == census["builds-7"].open_failures
    # Slow recovery: credit and C3 fall, C2 does not.
    assert found("recovery_credit", "builds-0") == 1
    assert found("recovery_credit", "delay-3") < 0.8
    assert found("c3", "delay-3") < found("c3", "builds-0")
    assert found("c2", "delay-3") == 1
    # The first move: C1.
    assert found("c1", "first-best") > found("c1", "first-worst")
    assert found("early_capture", "first-best") > found("early_capture", "first-worst")
