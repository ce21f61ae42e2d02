"""Which commands evaluate a solution objectively: as the task's evaluator file says, or its instruction."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from loopscope.evidence.evaluator import shipped_evaluators
from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.parse import parse
from loopscope.models.evaluator import EvaluationEntry, EvaluationRole, Evaluator

_INTERPRETERS = re.compile(r"(?:python|pypy|node|ruby|perl|julia|Rscript|bash|sh|lua)[\d.]*\Z")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s|\*\*)")
_EVALUATES = re.compile(
    r"\b(?:evaluat\w*|benchmark\w*|scor(?:e|ing)|measur\w*|local (?:run|eval)|verif(?:y|ier))\b", re.I
)
_NO_EVALUATION = re.compile(r"\b(?:train\w*|install|set ?up|git|commit|journal)\b", re.I)
_CODED = re.compile(r"`([^`\n]{3,300})`")


Role = EvaluationRole
"""What an evaluation tells."""


@dataclass(frozen=True, slots=True)
class EvaluationRule:
    """One way of evaluating."""

    role: Role
    program: re.Pattern[str]
    """Whole base name of the program, of an interpreter's script, or `cargo run`, `go run`."""
    arguments: re.Pattern[str] | None = None
    without: re.Pattern[str] | None = None
    value: re.Pattern[str] | None = None
    """With a group `value`."""
    failed: re.Pattern[str] | None = None
    measures: str | None = None
    """A file, relative to the work directory, that is evaluated instead of the sources."""
    made_by: re.Pattern[str] | None = None
    answer: re.Pattern[str] | None = None
    """With a group `value`: what every right solution prints."""
    saves: bool = False
    """It makes what is scored, and prints what that is worth by its own validation."""
    source: str = "evaluator"
    """Where the rule comes from."""

    def fits(self, name: str, arguments: str) -> bool:
        """Whether a command is an evaluation by this rule."""
        if not self.program.fullmatch(name):
            return False
        if self.without is not None and self.without.search(arguments):
            return False
        return self.arguments is None or bool(self.arguments.search(arguments))


@cache
def task_rules() -> Mapping[str, tuple[EvaluationRule, ...]]:
    """The rules of the tasks whose evaluators are shipped."""
    return {task: rules_of(evaluator) for task, evaluator in shipped_evaluators().items()}


@cache
def rules_of(evaluator: Evaluator) -> tuple[EvaluationRule, ...]:
    """The rules of an evaluator, compiled."""
    return tuple(_rule(entry) for entry in evaluator.evaluations)


def _rule(entry: EvaluationEntry) -> EvaluationRule:
    def compiled(text: str | None) -> re.Pattern[str] | None:
        return re.compile(text) if text is not None else None

    return EvaluationRule(
        entry.role,
        re.compile(entry.program),
        compiled(entry.arguments),
        compiled(entry.without),
        compiled(entry.value),
        compiled(entry.failed),
        entry.measures,
        compiled(entry.made_by),
        compiled(entry.answer),
        entry.saves,
    )


def rules_for(task: str | None, instruction: str, evaluator: Evaluator | None = None) -> tuple[EvaluationRule, ...]:
    """The rules of a task: from its evaluator file, else from its instruction.

    Args:
        task: its name, as far as the transcript tells.
        instruction: the first message of the user.
        evaluator: of the study's own, which comes before what is shipped.
    """
    if evaluator is not None:
        return rules_of(evaluator)
    return task_rules().get(task or "", ()) or rules_from_instruction(instruction)


def rules_from_instruction(text: str) -> tuple[EvaluationRule, ...]:
    """Commands that an instruction gives for evaluating: code under such a heading, and in lines that say so."""
    found: dict[tuple[str, str], EvaluationRule] = {}
    for command in _given_commands(text):
        for simple in parse(command).commands:
            for name in names_of(simple):
                rule = _from_command(name, simple)
                if rule is not None:
                    found.setdefault((name, rule.role.value), rule)
    return tuple(sorted(found.values(), key=lambda rule: rule.arguments is None))


def _given_commands(text: str) -> Iterator[str]:
    heading, fenced, wanted = "", False, False
    block: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            if fenced and block and wanted:
                yield "\n".join(block)
            fenced, block = not fenced, []
            wanted = bool(_EVALUATES.search(heading)) and not _NO_EVALUATION.search(heading)
        elif fenced:
            block.append(line)
        elif _HEADING.match(line):
            heading = line
        elif _EVALUATES.search(_CODED.sub("", line)) and not _NO_EVALUATION.search(_CODED.sub("", line)):
            for coded in _CODED.findall(line):
                if " " in coded or "/" in coded:
                    yield coded


def _from_command(name: str, command: SimpleCommand) -> EvaluationRule | None:
    if "<" in name or name in _NOT_PROGRAMS or not (_names_file(command) or name in ("cargo run", "go run")):
        return None
    flags = [item for item in command.arguments if item.startswith("--") and len(item) > 3]
    checks = any(re.search(r"verify|check|test", item) for item in flags)
    arguments = re.compile("|".join(rf"{re.escape(item.partition('=')[0])}\b" for item in flags)) if flags else None
    role = Role.CHECK if checks else Role.SCORE
    return EvaluationRule(role, re.compile(re.escape(name)), arguments, source="instruction")


_NOT_PROGRAMS = frozenset(["make", "cd", "git", "cat", "ls", "export", "echo", "gcc", "nvcc", "pip", "cargo", "go", ""])


def _names_file(command: SimpleCommand) -> bool:
    program = command.words[0].text
    return program.startswith("./") or _interprets(command.program)


@lru_cache(maxsize=4096)
def _interprets(program: str) -> bool:
    return _INTERPRETERS.match(program) is not None


def names_of(command: SimpleCommand) -> Sequence[str]:
    """By which names rules may know a command: its program, or an interpreter's script, or `cargo run`, `go run`."""
    program, arguments = command.program, command.arguments
    if program in ("cargo", "go", "make") and arguments:
        verb = next((item for item in arguments if not item.startswith(("-", "+"))), "")
        return (f"{program} {'run' if verb == 'r' else verb}",)
    if not _interprets(program):
        return (program,) if program else ()
    for number, item in enumerate(arguments):
        if item in ("-c", "-"):
            return ()
        if item == "-m" and number + 1 < len(arguments):
            return (arguments[number + 1],)
        if not item.startswith("-"):
            return (posixpath.basename(item),)
    return ()
