"""Follow the artifact through a run: which state each change makes, and which state was built, measured, committed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from loopscope.evidence.artifact.budget import Budget
from loopscope.evidence.artifact.contents import derived, shown_whole
from loopscope.evidence.artifact.edits import changes, patched_files, refused
from loopscope.evidence.artifact.effects import effects
from loopscope.evidence.artifact.measuring import measured_file, measured_state
from loopscope.evidence.artifact.products import outputs
from loopscope.evidence.artifact.repository import artifact_files, cover_all, restored
from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.evidence.artifact.timeline import Place, RawChange, RawState, Timeline, number
from loopscope.evidence.artifact.variants import in_words, told
from loopscope.evidence.artifact.world import Snapshot, World, flagged, snapshot_of
from loopscope.evidence.shell.builds import NOT_MADE, UP_TO_DATE, BuildFinding, Outcome
from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commands import SimpleCommand, resolve
from loopscope.evidence.shell.commit_types import CommitFinding
from loopscope.evidence.shell.evaluations import EvaluationFinding
from loopscope.evidence.shell.git import GitCall, git_call
from loopscope.evidence.shell.messages import commit_options
from loopscope.evidence.shell.reached import hangs_on
from loopscope.evidence.shell.rules import EvaluationRule, names_of
from loopscope.transcripts.canonical import Call, ToolKind

_NO_GIT = re.compile(
    r"^(?:error|fatal): (?:pathspec|not a git|unable|Your local changes|invalid reference)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in the same thread, which states are told for."""

    commits: Sequence[CommitFinding] = ()
    builds: Sequence[BuildFinding] = ()
    evaluations: Sequence[EvaluationFinding] = ()
    rules: Sequence[EvaluationRule] = ()
    """By which evaluations were found; they name files that are measured instead of sources."""


def track(
    calls: Sequence[Call],
    shells: Sequence[ShellCall],
    scope: ArtifactScope,
    findings: Findings,
    budget: Budget | None = None,
) -> Timeline:
    """The timeline of one thread.

    Args:
        calls: all calls of the thread, in order.
        shells: its shell calls.
        scope: which files are the artifact.
        findings: commits, builds and evaluations of the thread.
        budget: what may still be computed for the run; None: it has this thread alone.
    """
    tracker = _Tracker(World(scope, budget=budget or Budget()), findings)
    by_position = {shell.position: shell for shell in shells}
    for position, call in enumerate(calls):
        shell = by_position.get(position)
        if shell is not None:
            tracker.shell(shell)
        else:
            tracker.tool(position, call)
    return tracker.finish()


@dataclass
class _Tracker:
    world: World
    findings: Findings
    changes: list[RawChange] = field(default_factory=list)
    commits: list[RawState] = field(default_factory=list)
    builds: list[RawState] = field(default_factory=list)
    evaluations: list[RawState] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._commits: dict[Place, list[CommitFinding]] = {}
        for commit in self.findings.commits:
            self._commits.setdefault((commit.position, commit.order), []).append(commit)
        self._builds = {(item.position, item.order): item for item in self.findings.builds}
        self._failed: dict[int, list[int]] = {}
        for build in self.findings.builds:
            if build.outcome in NOT_MADE:
                self._failed.setdefault(build.position, []).append(build.order)
        self._evaluations = {(item.position, item.order): item for item in self.findings.evaluations}
        self._measured = [rule for rule in self.findings.rules if rule.measures and rule.made_by]

    def finish(self) -> Timeline:
        return number(self.changes, self.commits, self.builds, self.evaluations, self.world.files)

    def tool(self, position: int, call: Call) -> None:
        """A call of another tool than the shell."""
        world, before = self.world, self.world.snapshot()
        if call.kind is ToolKind.READ and call.path and call.result and not call.result.cut:
            key = world.key(posixpath.normpath(call.path))
            wanted = not world.files.knows(key) and not {"offset", "limit"} & set(call.arguments)
            text = shown_whole(call.result.text) if wanted else None
            if text is not None:
                world.files.learn(key, text)
        elif call.kind in (ToolKind.EDIT, ToolKind.WRITE) and call.path and not refused(call):
            path = posixpath.normpath(call.path)
            version = changes(call, world.files, world.key(path))
            name = world.set(path, version) if version is not None else None
            if name is not None and version is not None:
                reason = f"{call.tool} of {posixpath.basename(name)}"
                self._note(call.index, (position, -1), before, (name,), reason, version.text is not None)
        elif call.kind is ToolKind.PATCH and not refused(call):
            names = []
            for path, part in patched_files(call):
                key = world.key(posixpath.normpath(path))
                if world.set(posixpath.normpath(path), derived(world.files.get(key), part)) is not None:
                    names.append(key)
            self._note(call.index, (position, -1), before, tuple(names), f"{call.tool} changes files", False)

    def shell(self, shell: ShellCall) -> None:
        """A call of the shell: its commands, one by one."""
        self._learn(shell)
        for command in shell.script.commands:
            place = (shell.position, command.order)
            if command.function is not None or shell.unreached(command) or self._skipped(shell, command):
                self._unmeasured(shell, command)
                continue
            git = git_call(command)
            if git is not None:
                self._git(shell, command, git)
            before = self.world.snapshot()
            made = list(effects(command, shell, self.world)) if git is None else []
            if made:
                names = tuple(dict.fromkeys(item.name for item in made))
                exact = all(item.exact for item in made)
                self._note(shell.index, place, before, names, made[0].reason, exact)
            self._clean(command)
            if place in self._builds:
                self._build(shell, command, self._builds[place])
            if self._measured:
                self._train(shell, command)
            if place in self._evaluations:
                self._evaluate(shell, command, self._evaluations[place])
        for commit in self._commits.get((shell.position, -1), ()):
            self.world.repository.stage(sorted(self.world.working()), self.world.working())
            self._commit(shell, (shell.position, -1), commit)

    def _learn(self, shell: ShellCall) -> None:
        """`cat FILE` alone shows the whole text of a file."""
        commands, result = shell.script.commands, shell.call.result
        shown = [command for command in commands if command.program != "cd"]
        if len(shown) != 1 or shown[0].program != "cat" or len(shown[0].words) != 2 or shown[0].redirects:
            return
        path = shown[0].path(shown[0].words[1].text)
        name = self.world.key(path) if path is not None else None
        if name is not None and result is not None and not result.cut and shell.succeeded and len(result.text) < 29_000:
            self.world.files.learn(name, result.text)

    def _note(
        self, index: int, place: Place, before: Snapshot, files: tuple[str, ...], reason: str, exact: bool
    ) -> None:
        after = self.world.snapshot()
        if after != before:
            self.changes.append(RawChange(index, place, after, before, files, reason, exact))

    def _skipped(self, shell: ShellCall, command: SimpleCommand) -> bool:
        """Whether a build before it failed, on whose success it hangs; or it waits for a failure that was none."""
        commands = shell.script.commands
        for order in self._failed.get(shell.position, ()):
            if order >= command.order:
                continue
            if hangs_on(commands, commands[order], command):
                return True
        if command.joined == "||":
            build = next(
                (item for order in range(command.order) if (item := self._builds.get((shell.position, order)))), None
            )
            return build is None or build.outcome not in NOT_MADE
        return False

    def _git(self, shell: ShellCall, command: SimpleCommand, git: GitCall) -> None:
        world, place = self.world, (shell.position, command.order)
        found = self._commits.get(place)
        if git.verb == "commit":
            for commit in found or ():
                if commit.happened is not False:
                    self._stage_for(git)
                    self._commit(shell, place, commit)
            return
        if _NO_GIT.search(shell.shown) and git.verb not in ("add", "commit") and shell.succeeded is not True:
            return
        if git.verb in ("checkout", "restore", "clean", "rm"):
            # A binary that comes out of the repository is no longer the one that was built here.
            for item in git.paths:
                world.products.pop(resolve(git.directory, item) or "", None)
        before = world.snapshot()
        change = restored(world.repository, git, world.working(), self._named)
        if change is None:
            return
        names = []
        for name, version in change.files.items():
            if world.files.get(name).id != version.id:
                names.append(name)
            world.put(name, version)
        exact = all(world.files.get(name).text is not None for name in names)
        self._note(shell.index, place, before, tuple(names), change.reason, exact)
        for commit in found or ():
            if commit.happened is not False:
                world.repository.stage(sorted(world.working()), world.working())
                self._commit(shell, place, commit)

    def _named(self, path: str | None) -> str | None:
        return self.world.name(path)

    def _stage_for(self, git: GitCall) -> None:
        """What a commit takes besides what was staged."""
        working, options = self.world.working(), commit_options(git, None)
        if options.all or cover_all(options.paths):
            self.world.repository.stage(sorted(working), working)
        elif options.paths:
            self.world.repository.stage(artifact_files(git.directory, options.paths, self._named), working)

    def _commit(self, shell: ShellCall, place: Place, commit: CommitFinding) -> None:
        repository = self.world.repository
        if commit.root and repository.head is not None:
            index = repository.index
            repository.restart()
            repository.index = index
        if commit.branch and commit.branch not in ("detached", "HEAD"):
            repository.branch = commit.branch
        tree = repository.commit(commit.hash, amend=commit.amend)
        reason = "what was staged" if commit.happened else "what was staged, if the commit happened"
        self.commits.append(
            RawState(
                shell.index, place, snapshot_of(dict(tree)), self.world.snapshot(), commit.happened is True, reason
            )
        )

    def _clean(self, command: SimpleCommand) -> None:
        """`make clean`, `cargo clean`: what was built is gone."""
        if command.arguments[:1] == ("clean",) and command.program in ("make", "cargo", "go") and command.cwd:
            inside = f"{command.cwd.rstrip('/')}/"
            for path in [path for path in self.world.products if path.startswith(inside)]:
                del self.world.products[path]

    def _build(self, shell: ShellCall, command: SimpleCommand, build: BuildFinding) -> None:
        place, world = (shell.position, command.order), self.world
        present = world.snapshot()
        failed = build.outcome in NOT_MADE
        flags, known = told(shell, command, build, world)
        state = flagged(present, flags)
        certain = known and build.outcome is not Outcome.NOT_RUN
        reason = f"what it compiled{in_words(state)}"
        self.builds.append(RawState(shell.index, place, state, present, certain, reason))
        if failed or build.signature == UP_TO_DATE:
            return
        for path in outputs(shell, command, build):
            certain = known and build.outcome is Outcome.SUCCEEDED
            world.built(path, shell.index, certain=certain, flags=flags)

    def _train(self, shell: ShellCall, command: SimpleCommand) -> None:
        """A program that makes the file that evaluations measure, as a training run does."""
        for rule in self._measured:
            made = any(rule.made_by is not None and rule.made_by.fullmatch(name) for name in names_of(command))
            path = measured_file(self.world, rule, command)
            if made and path is not None:
                self.world.built(path, shell.index, certain=shell.succeeded is not False)

    def _unmeasured(self, shell: ShellCall, command: SimpleCommand) -> None:
        place = (shell.position, command.order)
        present = self.world.snapshot()
        if place in self._evaluations:
            self.evaluations.append(RawState(shell.index, place, None, present, True, "it was not run"))
        if place in self._builds:
            self.builds.append(RawState(shell.index, place, present, present, True, "what it would have compiled"))

    def _evaluate(self, shell: ShellCall, command: SimpleCommand, evaluation: EvaluationFinding) -> None:
        place, world = (shell.position, command.order), self.world
        snapshot, certain, reason = measured_state(world, shell, command, evaluation, self._builds.get(place))
        if command.loop and any(change.place[0] == shell.position for change in self.changes):
            certain, reason = False, f"{reason}; the call changes the artifact in a loop"
        self.evaluations.append(RawState(shell.index, place, snapshot, world.snapshot(), certain, reason))
