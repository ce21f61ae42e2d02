"""Kinds 1 and 6: what a measured program says is compared, wholly, always, with what it cannot have touched."""

from __future__ import annotations

from collections.abc import Iterator

from loopscope.audit.finding import Finding, Severity
from loopscope.audit.reading.events import Run
from loopscope.audit.reading.values import Value
from loopscope.audit.reading.verifier import Verifier, verifier_of
from loopscope.audit.rules.common import beyond, found, line_of, reward_of, solution_runs
from loopscope.audit.sources import TaskSources

_REMEDY = (
    "compare the whole of each answer with one that the verifier has computed itself, and refuse on any difference"
)
_SAYS = {"out", "weak", "told", "clock", "cpu", "cmp"}
_WORDS = {
    "nothing": "its output is never compared with anything that the verifier knows",
    "const": "its output is only held against constants",
    "partial": "only a part of its output is compared",
    "weak": "only a length, a sum or the like of its output is compared",
    "order": "its output is only compared by size",
    "sometimes": "its output is not compared every time",
    "last": "of several answers not each is compared",
}


def compared(sources: TaskSources) -> Iterator[Finding]:
    """Kind 1."""
    verifier = verifier_of(sources)
    reward = reward_of(verifier)
    known = solution_runs(verifier)
    if known and reward.labels and not any(label[0] in _SAYS for label in reward.labels):
        text = "neither an answer of the solution's nor its time has a part in the reward"
        yield found(sources, "output-compared", 1, Severity.HIGH, line_of(next(iter(known))), text, _REMEDY)
    for name, runs in known.items():
        if not scored(reward, name):
            continue
        measured = reward.has("clock") or ("told", name) in reward.labels
        grades = graded(verifier, reward, name, runs)
        if "self" in grades and not {"full", "weak", "partial"} & set(grades):
            continue  # kind 6 says so
        why = fault(verifier, name, grades, measured) or metric_fault(reward, name)
        if why:
            text = f"the program started here decides the reward, and {why}"
            severity = Severity.HIGH if measured or "never" in why else Severity.MEDIUM
            yield found(sources, "output-compared", 1, severity, line_of(name), text, _REMEDY)


def scored(reward: Value, name: str) -> bool:
    """Whether the reward hangs on this run: by what it says, or by the time it takes."""
    if any(label[0] in ("out", "weak", "told") and label[1] == name for label in reward.labels):
        return True
    others = any(label[0] in ("out", "weak", "told") for label in reward.labels)
    return reward.has("clock") and not others


def graded(verifier: Verifier, reward: Value, name: str, runs: list[Run]) -> dict[str, str]:
    """How the output is compared where it counts: {grade: what is odd about it, or nothing}."""
    grades: dict[str, str] = {}
    for label in reward.of("cmp"):
        if label[1] == name:
            grades.setdefault(label[2], "")
    for gate in verifier.story.gates:
        for label in gate.value.of("cmp"):
            if label[1] != name:
                continue
            more = beyond(gate.place.conditions, runs[0].place.conditions, name)
            odd = f"the refusal is caught and forgotten at {gate.swallowed}" if gate.swallowed else ""
            if more and not odd:
                odd = f"it is only refused if {more[-1].text} ({gate.place.where})"
            if label[2] not in grades or (grades[label[2]] and not odd):
                grades[label[2]] = odd
    return grades


def metric_fault(reward: Value, name: str) -> str:
    """What is wrong with a metric that is itself a comparison; empty where nothing is."""
    used = {label[2] for label in reward.of("cmp") if label[1] == name}
    return _WORDS["partial"] if "partial" in used and "full" not in used else ""


def fault(verifier: Verifier, name: str, grades: dict[str, str], measured: bool) -> str:
    """What is wrong with these grades; empty where nothing is."""
    enough = {"full"} if measured else {"full", "weak"}
    good = [grade for grade in enough if grade in grades]
    if any(not grades[grade] for grade in good):
        return _WORDS["last"] if measured and not each(verifier, name) else ""
    if good:
        return grades[good[0]]
    for grade in ("sometimes", "partial", "weak", "order", "const"):
        if grade in grades:
            return _WORDS[grade]
    return _WORDS["nothing"]


def each(verifier: Verifier, name: str) -> bool:
    """Whether every answer that is read inside a loop is compared in that loop."""
    said = [h.place.loops for h in verifier.story.of("said") if ("out", name) in h.value.labels]
    where = [
        h.place.loops
        for h in verifier.story.of("compare")
        if ("out", name) in (h.value.labels | h.other.labels) and (h.value.has("drawn") or h.other.has("drawn"))
    ]
    return all(any(w[: len(loops)] == loops for w in where) for loops in said)


def own_memory(sources: TaskSources) -> Iterator[Finding]:
    """Kind 6."""
    verifier = verifier_of(sources)
    reward = reward_of(verifier)
    remedy = "compute the answer before the program starts, from data that it cannot write; seal what is handed over"
    for name, runs in solution_runs(verifier).items():
        grades = graded(verifier, reward, name, runs)
        if scored(reward, name) and "self" in grades and not {"full", "weak", "partial", "sometimes"} & set(grades):
            text = "what the program says is only compared with something else that it says"
            yield found(sources, "own-memory", 6, Severity.HIGH, line_of(name), text, remedy)
    said = {label[1] for kind in ("out", "weak") for label in reward.of(kind)}
    alone = [name for name in solution_runs(verifier) if name in said]
    if alone and not any(reward.has(kind) for kind in ("drawn", "fixed", "own", "clock", "told")):
        text = "the metric is computed from what the program says alone, with nothing that the verifier drew or knows"
        yield found(sources, "own-memory", 6, Severity.HIGH, line_of(alone[0]), text, remedy)
    for sent in verifier.story.sent:
        if sent.value.has("memfd") and not sent.value.has("sealed") and (sent.box.has("src") or sent.box.has("parsed")):
            text = "a file in memory is handed over unsealed: the program can change what others are given"
            yield found(sources, "own-memory", 6, Severity.HIGH, sent.place.where, text, remedy)
    yield from _read_back(sources, verifier, remedy)


def _read_back(sources: TaskSources, verifier: Verifier, remedy: str) -> Iterator[Finding]:
    for read in verifier.story.of("read"):
        name = str(read.other.const or "")
        if ("file", name) in read.value.labels:
            text = f"{read.text} reads back a file that was laid beside the solution, after it could write there"
            yield found(sources, "own-memory", 6, Severity.HIGH, read.place.where, text, remedy)
