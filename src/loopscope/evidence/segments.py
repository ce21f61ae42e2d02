"""What happened to files between two commits: which were written, whether it is known what that did, and seeds."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from loopscope.evidence.artifact.edits import patched_files, refused, replacements
from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.evidence.artifact.timeline import Place, StateChange, Timeline
from loopscope.evidence.events import Segment
from loopscope.evidence.gate import Artifact, is_administrative
from loopscope.evidence.seeds import diff_only_seeds, only_seeds
from loopscope.evidence.shell.calls import ShellCall, written_files
from loopscope.evidence.shell.commands import SimpleCommand, resolve
from loopscope.evidence.shell.git import GitCall, git_call
from loopscope.evidence.shell.messages import commit_options
from loopscope.transcripts.canonical import Call, ToolKind

_MOVES = frozenset(["cp", "mv", "install", "ln", "touch"])
_REMOVES = frozenset(["rm", "truncate", "patch"])
_INTERPRETER = re.compile(r"(?:python|pypy|perl|ruby|node)[\d.]*\Z")
_WRITES = re.compile(
    r"open\([^)\n]{0,300}['\"][wax]|write_text|write_bytes|\.rename\(|shutil\.|os\.remove|writeFile|unlink"
)
_NAMES_FILE = re.compile(r"['\"]([\w./~-]+\.\w{1,6})['\"]")
_SED = re.compile(r"s([/|#,@!])((?:(?!\1).)*)\1((?:(?!\1).)*)\1")
_NOTHING = Artifact()
_ALL = frozenset(["-A", "--all", "-u", "--update", ".", "--pathspec-from-file"])


@dataclass
class _Draft:
    records: dict[str, None] = field(default_factory=dict)
    others: dict[str, None] = field(default_factory=dict)
    uncertain: str = ""
    staged: list[str] = field(default_factory=list)
    """Files that were put into the index by name."""
    everything: bool = False
    """More was put into it than files by their names."""


@dataclass
class _Paths:
    """What paths mean, each looked up once."""

    scope: ArtifactScope
    seen: dict[str, tuple[str | None, bool]] = field(default_factory=dict)

    def look(self, path: str) -> tuple[str | None, bool]:
        """(its name in the work directory, None outside; whether it belongs to the artifact)."""
        if path not in self.seen:
            self.seen[path] = _relative(path, self.scope), self.scope.name(path) is not None
        return self.seen[path]


def segments(
    calls: Sequence[Call],
    shells: Sequence[ShellCall],
    timeline: Timeline,
    scope: ArtifactScope,
    cuts: Sequence[Place],
) -> list[Segment]:
    """One for each cut, which ends it.

    Args:
        calls: of a thread.
        shells: its shell calls.
        timeline: of its artifact.
        scope: which files are the artifact.
        cuts: places of commits, in order.
    """
    drafts, paths = [_Draft() for _ in cuts], _Paths(scope)
    by_position = {shell.position: shell for shell in shells}
    for position, call in enumerate(calls):
        if not cuts or position > cuts[-1][0]:
            break
        shell = by_position.get(position)
        if shell is None:
            at = bisect_left(cuts, (position, -1))
            if at < len(cuts):
                for path in _tool_writes(call):
                    _note(drafts[at], path, paths)
            continue
        at = bisect_left(cuts, (position, -1))
        for command in shell.script.commands:
            while at < len(cuts) and cuts[at] < (position, command.order):
                at += 1
            if at < len(cuts) and command.function is None:
                _note_command(drafts[at], command, paths)
    changes: list[list[tuple[StateChange, Call | None]]] = [[] for _ in cuts]
    wrote: dict[tuple[str, ...], Call] = {}
    for change in timeline.changes:
        at = bisect_left(cuts, (change.position, change.order))
        if at < len(cuts):
            changes[at].append((change, wrote.get(change.files)))
        wrote = {files: call for files, call in wrote.items() if not set(files) & set(change.files)}
        wrote[change.files] = calls[change.position]
    return [
        _segment(draft, [change for change, _ in made], all(_changes_seed(*item, calls, by_position) for item in made))
        for draft, made in zip(drafts, changes, strict=True)
    ]


def _segment(draft: _Draft, changes: list[StateChange], seeds: bool) -> Segment:
    """What a draft and the changes of the artifact make; `seeds`: each change only gave a seed another number."""
    vague = next((item for item in changes if not item.exact and not item.returned), None)
    named = bool(draft.staged) and not draft.everything
    if named:
        # Only these are in the commit, whatever else was written.
        names = dict.fromkeys(draft.staged)
        draft.records = {name: None for name in names if _keeps_records(name)}
        draft.others = {name: None for name in names if not _keeps_records(name)}
        draft.uncertain = ""
    uncertain = draft.uncertain
    if vague is not None and not uncertain:
        uncertain = f"message {vague.index}: {vague.reason}, and what that made of it is not known"
    return Segment(
        changes=len(changes),
        files=tuple(dict.fromkeys(name for item in changes for name in item.files)),
        records=tuple(draft.records),
        others=tuple(draft.others),
        uncertain=uncertain,
        records_staged=named and not draft.others,
        seeds_only=bool(changes) and seeds,
    )


def _tool_writes(call: Call) -> Iterator[str]:
    if call.kind in (ToolKind.EDIT, ToolKind.WRITE) and call.path and not refused(call):
        yield posixpath.normpath(call.path)
    elif call.kind is ToolKind.PATCH and not refused(call):
        for path, _ in patched_files(call):
            yield posixpath.normpath(path)


def _note_command(draft: _Draft, command: SimpleCommand, paths: _Paths) -> None:
    program = command.program
    if command.redirects or program == "tee":
        for path in written_files(command):
            _note(draft, path, paths)
    if program == "git":
        git = git_call(command)
        if git is not None:
            _stage(draft, git, paths)
            if git.verb in ("rm", "mv"):
                _note_all(draft, command, git.paths, paths)
    elif program in _MOVES or program in _REMOVES:
        plain = _plain(command)
        _note_all(draft, command, plain[-1:] if program in _MOVES and program != "mv" else plain, paths)
    elif program == "sed":
        if any(re.match(r"-\w*i|--in-place", item) for item in command.arguments):
            scripted = any(item in ("-e", "-f", "--expression") for item in command.arguments)
            _note_all(draft, command, _plain(command)[0 if scripted else 1 :], paths)
    elif _INTERPRETER.match(program):
        _note_script(draft, command, paths)


def _plain(command: SimpleCommand) -> list[str]:
    return [item for item in command.arguments if not item.startswith("-")]


def _stage(draft: _Draft, git: GitCall, paths: _Paths) -> None:
    """What a command of git puts into the index."""
    if git.verb == "commit":
        draft.everything |= not commit_options(git, None).staged_alone
    if git.verb not in ("add", "rm", "mv", "stage"):
        return
    for name in git.paths:
        path = resolve(git.directory, name)
        inside, artifact = paths.look(path) if path is not None else (None, False)
        named = inside is not None and re.search(r"\.\w+\Z", name) and not any(mark in name for mark in "*?[")
        draft.everything |= not named
        if inside is not None and not artifact:
            draft.staged.append(inside)
    draft.everything |= git.verb == "mv" or any(item in _ALL for item in git.arguments)


def _note_script(draft: _Draft, command: SimpleCommand, paths: _Paths) -> None:
    """A program that is given on the spot and writes files: which, by the names in its text."""
    given = [word for option, word in zip(command.arguments, command.arguments[1:], strict=False) if option == "-c"]
    text = command.stdin_text or " ".join(given)
    if not _WRITES.search(text):
        return
    names = _NAMES_FILE.findall(text)
    for name in names:
        _note(draft, command.path(name), paths)
    if not names:
        draft.uncertain = draft.uncertain or f"a script of `{command.program}` writes files that it does not name"


def _note_all(draft: _Draft, command: SimpleCommand, names: Sequence[str], paths: _Paths) -> None:
    for name in names:
        _note(draft, command.path(name), paths)


def _note(draft: _Draft, path: str | None, paths: _Paths) -> None:
    name, artifact = paths.look(path) if path is not None else (None, False)
    if name is None or artifact:
        return
    kept = draft.records if _keeps_records(name) else draft.others
    kept[name] = None


def _keeps_records(name: str) -> bool:
    return is_administrative(name.encode("utf-8", "surrogatepass"), _NOTHING)


def _relative(path: str, scope: ArtifactScope) -> str | None:
    """A path as the repository would name it; None for one outside the work directory, or for what git ignores."""
    if scope.root is not None and path.startswith(scope.root.rstrip("/") + "/"):
        path = path[len(scope.root.rstrip("/")) + 1 :]
    elif path.startswith(("/", "~", "..")):
        found = re.match(r"/.*?/app/(.+)", path)
        if found is None or scope.root is not None:
            return None
        path = found[1]
    # The repository may lie in `app` or above it, and a shell's directory is not always known.
    while path.startswith("app/"):
        path = path[len("app/") :]
    return path


def _changes_seed(
    change: StateChange, before: Call | None, calls: Sequence[Call], shells: dict[int, ShellCall]
) -> bool:
    """Whether a change only gave a seed another number.

    Args:
        change: of the artifact.
        before: the call that last changed the same files; None where that is not known.
        calls: of the thread.
        shells: its shell calls, by position.
    """
    call = calls[change.position]
    if call.kind is ToolKind.EDIT:
        pairs = [(old, new) for old, new, _ in replacements(call.arguments)]
        return bool(pairs) and all(only_seeds(old, new) for old, new in pairs)
    if call.kind is ToolKind.PATCH:
        parts = [part for _, part in patched_files(call)]
        return bool(parts) and all(diff_only_seeds(part) for part in parts)
    if call.kind is ToolKind.WRITE and before is not None and before.kind is ToolKind.WRITE:
        old, new = (item.arguments.get("content") for item in (before, call))
        return isinstance(old, str) and isinstance(new, str) and only_seeds(old, new)
    shell = shells.get(change.position)
    if shell is None or not 0 <= change.order < len(shell.script.commands):
        return False
    command = shell.script.commands[change.order]
    if command.program != "sed":
        return False
    pairs = [(old, new) for item in command.arguments for _, old, new in _SED.findall(item)]
    return bool(pairs) and all(only_seeds(old.replace("\\", ""), new.replace("\\", "")) for old, new in pairs)
