"""The output in docs/explain.md, made by the product of made studies. `python tests/support/explain_page.py`."""

from __future__ import annotations

import ast
import re
import tempfile
from pathlib import Path

from field_tables import table
from made_study import MadeStudy

from loopscope.analysis.build import analyze
from loopscope.analysis.explain import explain_run, find_checkpoint, selected
from loopscope.analysis.explain.difference import explain_difference
from loopscope.analysis.explain.number import explain_number
from loopscope.cli.explained import checkpoint_text, explanation_text
from loopscope.cli.explained_number import difference_text, number_text

_ROOT = Path(__file__).parents[2]
PAGE = _ROOT / "docs" / "explain.md"
_MODELS = _ROOT / "src" / "loopscope" / "analysis" / "explain"
_OUTPUT = re.compile(r"(<!-- output:(.*?)-->\n```text\n).*?(```\n<!-- end -->)", re.DOTALL)
_FIELDS = re.compile(r"(<!-- fields of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_WIDTH = 118
_NUMBER_WIDTH = 100
START, GOOD, BAD, TRIED = (f"{number:016x}" for number in (1, 2, 3, 4))


def example(directory: Path) -> MadeStudy:
    """A study of one run: a build that fails, a dip, and a recovery that tries two states."""
    study = MadeStudy(directory, ["search"], {"toy": "puzzle"}, 1)
    steps = [
        {"kind": "evaluate", "state": START, "command": "./evaluate"},
        {"kind": "commit", "commit": 0, "state": START},
        {"kind": "build", "status": "code_failure", "command": "make", "output": "solve.c:7: error: expected ';'"},
        {"kind": "build", "command": "make", "state": GOOD},
        {"kind": "evaluate", "state": GOOD, "command": "./evaluate"},
        {"kind": "commit", "commit": 1, "state": GOOD},
        {"kind": "build", "command": "make", "state": BAD},
        {"kind": "commit", "commit": 2, "state": BAD},
        {"kind": "build", "command": "make", "state": TRIED},
        {"kind": "evaluate", "state": TRIED, "command": "./evaluate"},
        {"kind": "evaluate", "state": GOOD, "command": "./evaluate"},
        {"kind": "commit", "commit": 3, "state": GOOD},
    ]
    messages = ["initial state", "round 1: change=lookup table", "round 2: change=unroll", "round 3: revert"]
    study.add("toy", "search", 1, ["0", "0.62", "0.4", "0.615"], "0.615", messages=messages, steps=steps, repeats=3)
    return study


def study_of_numbers(directory: Path, *, pair: bool = False) -> MadeStudy:
    """A study of three tasks in two families, with a score that is missing; `pair`: with a second agent."""
    study = MadeStudy(directory, ["search", "other"] if pair else ["search"], _FAMILIES, 2)
    for agent, tasks in _SCORES.items() if pair else [("search", _SCORES["search"])]:
        for task, scores in tasks.items():
            for seed, score in enumerate(scores, 1):
                study.add(task, agent, seed, ["0", "0.2", score], score)
    return study


_FAMILIES = {"pack": "puzzle", "route": "puzzle", "tune": "systems"}
_SCORES: dict[str, dict[str, tuple[str | None, ...]]] = {
    "search": {"pack": ("0.5", "0.3"), "route": ("0.4", None), "tune": ("0.2", "0.25")},
    "other": {"pack": ("0.7", "0.8"), "route": ("0.35", "0.4"), "tune": ("0.3", "0.4")},
}


def number_output(directory: Path, options: str) -> str:
    """What the verb prints of a number, or of a difference, of the study of numbers."""
    words = options.split()
    chosen = dict(zip((word.removeprefix("--") for word in words[::2]), words[1::2], strict=True))
    study = study_of_numbers(directory, pair="against" in chosen).path
    analyze(study)
    if "against" in chosen:
        found = explain_difference(study, chosen["number"], chosen["agent"], chosen["against"])
        return difference_text(found, _NUMBER_WIDTH).plain
    return number_text(explain_number(study, chosen["number"]), _NUMBER_WIDTH).plain


def output(study: Path, options: str) -> str:
    """What the verb prints with these options."""
    words = options.split()
    chosen = dict(zip(words[::2], words[1::2], strict=True))
    if "--number" in chosen:
        with tempfile.TemporaryDirectory() as folder:
            return number_output(Path(folder) / "study", options)
    told = explain_run(study, "toy")
    if "--checkpoint" in chosen:
        one = find_checkpoint(told, chosen["--checkpoint"])
        told = told.model_copy(update={"checkpoints": (one,)})
        return checkpoint_text(selected(told, ["checkpoints"]), _WIDTH).plain
    return explanation_text(selected(told, [chosen["--measure"]]) if chosen else told, _WIDTH).plain


def models() -> dict[str, ast.ClassDef]:
    """The types of an explanation."""
    trees = [
        ast.parse((_MODELS / name).read_text(encoding="utf-8")) for name in ("model.py", "told.py", "number_model.py")
    ]
    return {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}


def filled(page: str) -> str:
    """The page with output and fields as they are now."""
    with tempfile.TemporaryDirectory() as folder:
        study = example(Path(folder) / "study").path
        page = _OUTPUT.sub(lambda found: found[1] + output(study, found[2]) + found[3], page)
    classes = models()
    return _FIELDS.sub(lambda found: found[1] + table(classes[found[2]]).replace("None", "null") + found[3], page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
