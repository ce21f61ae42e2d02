"""What git commands do to the artifact files: a small model of index, commits and working tree."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from loopscope.evidence.artifact.contents import Version, initial, unknown
from loopscope.evidence.shell.git import GitCall

Tree = dict[str, Version]
Named = Callable[[str | None], str | None]
"""From a path to the artifact file that it means."""


_REVISION = re.compile(r"[0-9a-f]{7,40}|master|main|(?:HEAD|@)\S*|stash@\S+|v\d[\w.]*")
"""What surely is no path."""
_MAX_REVISION = 300
"""Characters of a revision that is looked for: longer ones name no commit, and int() refuses thousands of digits."""


@dataclass
class _Commit:
    tree: Tree
    parent: int | None
    hash: str | None


@dataclass
class Repository:
    """The agent's repository, as far as its commands tell."""

    index: Tree = field(default_factory=dict)
    commits: list[_Commit] = field(default_factory=list)
    head: int | None = None
    tips: dict[str, int] = field(default_factory=dict)
    branch: str | None = "master"
    stashes: list[Tree] = field(default_factory=list)

    def stage(self, names: Iterable[str], working: Tree) -> None:
        """`git add` of some files."""
        for name in names:
            self.index[name] = working.get(name) or initial(name)

    def commit(self, hash: str | None, *, amend: bool = False) -> Tree:
        """A commit of what is staged. Returns its tree."""
        parent = self.head
        if amend and parent is not None:
            parent = self.commits[parent].parent
        self.commits.append(_Commit(dict(self.index), parent, hash))
        self.head = len(self.commits) - 1
        if self.branch is not None:
            self.tips[self.branch] = self.head
        return self.index

    def restart(self) -> None:
        """`git init` after the repository was deleted: nothing is left of it."""
        self.index, self.commits, self.head, self.tips, self.stashes = {}, [], None, {}, []

    def tree_of(self, revision: str, names: Iterable[str]) -> Tree:
        """The artifact files of a revision; opaque versions for one that is not known."""
        at = self.find(revision)
        if at is not None:
            return {name: self.commits[at].tree.get(name) or initial(name) for name in names}
        return {name: unknown("revision", revision, name) for name in names}

    def find(self, revision: str) -> int | None:
        """The commit that a revision names."""
        base, steps = _relative(revision)
        at: int | None
        if base in ("HEAD", "@"):
            at = self.head
        elif base in self.tips:
            at = self.tips[base]
        else:
            at = next((number for number, item in enumerate(self.commits) if _is(item.hash, base)), None)
        while steps and at is not None:
            at, steps = self.commits[at].parent, steps - 1
        return at


def _is(hash: str | None, name: str) -> bool:
    return hash is not None and len(name) >= 4 and (hash.startswith(name) or name.startswith(hash))


def _relative(revision: str) -> tuple[str, int]:
    """The name that a revision begins with, and how many commits before it are meant."""
    base, steps = revision, 0
    if len(revision) > _MAX_REVISION:
        return base, steps
    while base:
        if base.endswith("^"):
            base, steps = base[:-1], steps + 1
        elif "~" in base and (base.rpartition("~")[2].isdecimal() or base.endswith("~")):
            base, _, count = base.rpartition("~")
            steps += int(count or "1")
        else:
            break
    return base, steps


@dataclass(frozen=True, slots=True)
class Restored:
    """What a git command puts into the working tree."""

    files: Tree
    reason: str


def restored(repository: Repository, git: GitCall, working: Tree, named: Named) -> Restored | None:
    """Carry out a git command other than `commit` on the model.

    Args:
        repository: the model, which is changed.
        git: the command, which is known not to have failed.
        working: the artifact files as they are.
        named: tells which artifact file a path means.

    Returns:
        What it puts into the working tree; None when it changes no artifact file.
    """
    names = sorted({*working, *repository.index, *(name for item in repository.commits for name in item.tree)})
    if git.verb == "add":
        repository.stage(_added(git, names, named), working)
        return None
    if git.verb == "init":
        return None
    if git.verb in ("checkout", "restore", "switch"):
        return _checkout(repository, git, working, names, named)
    if git.verb == "stash":
        return _stash(repository, git, working, names)
    if git.verb == "reset":
        return _reset(repository, git, names, named)
    if git.verb in ("revert", "cherry-pick", "merge", "am", "pull", "rebase", "apply"):
        return Restored(
            {name: unknown(git.verb, *git.arguments, working[name].id, name) for name in working}, f"git {git.verb}"
        )
    return None


def artifact_files(directory: str | None, paths: Iterable[str], named: Named) -> list[str]:
    """The artifact files among the paths that a git command names from a directory."""
    found = []
    for item in paths:
        name = named(posixpath.join(directory, item) if directory not in (None, ".") else item)
        if name is not None:
            found.append(name)
    return found


def cover_all(paths: Iterable[str]) -> bool:
    """Whether a path of a git command stands for the whole tree."""
    return any(item in (".", "./", ":/", "*", "app", "src", "src/") for item in paths)


def _added(git: GitCall, names: list[str], named: Named) -> list[str]:
    if cover_all(git.paths) or (git.has("-A", "--all", "-u", "--update", "-Av") and not git.paths):
        return names
    if git.has("-A", "--all") and all("." not in posixpath.basename(item.rstrip("/")) for item in git.paths):
        return names
    return artifact_files(git.directory, git.paths, named)


def _checkout(repository: Repository, git: GitCall, working: Tree, names: list[str], named: Named) -> Restored | None:
    creates = git.has("-b", "-B", "-c", "-C", "--orphan") and git.verb != "restore"
    plain = [item for item in git.arguments if not item.startswith("-")]
    if creates:
        repository.branch = plain[0] if plain else repository.branch
        if repository.branch is not None and repository.head is not None:
            repository.tips[repository.branch] = repository.head
        return None
    source = _source(git)
    if source is not None:
        plain = [item for item in plain if item != source]
    chosen = artifact_files(git.directory, git.paths, named)
    if cover_all(git.paths):
        chosen = names
    if git.verb == "restore" and git.has("--staged", "-S") and not git.has("--worktree", "-W"):
        repository.index.update(repository.tree_of(source or "HEAD", chosen))
        return None
    if chosen:
        revision = source or (
            plain[0] if "--" not in git.arguments and named(plain[0]) is None and plain[0] != "." else None
        )
        if "--" in git.arguments and git.arguments[0] != "--" and not git.arguments[0].startswith("-"):
            revision = git.arguments[0]
        if revision is not None:
            tree = repository.tree_of(revision, chosen)
            repository.index.update(tree)
            return Restored(tree, f"git {git.verb} from {revision}")
        return Restored({name: repository.index.get(name) or initial(name) for name in chosen}, f"git {git.verb}")
    if git.verb == "restore" or "--" in git.arguments or not plain:
        return None
    if repository.find(plain[0]) is None and not _REVISION.fullmatch(plain[0]):
        return None
    return _switch(repository, plain[0], names, {} if git.has("-f", "--force", "--discard-changes") else working)


def _source(git: GitCall) -> str | None:
    if git.verb != "restore":
        return None
    for number, item in enumerate(git.arguments):
        if item.startswith("--source="):
            return item.partition("=")[2]
        if item in ("-s", "--source") and number + 1 < len(git.arguments):
            return git.arguments[number + 1]
    return None


def _switch(repository: Repository, revision: str, names: list[str], working: Tree) -> Restored:
    """Go to a revision. What is changed and not committed stays where the two revisions do not differ."""
    at = repository.find(revision)
    tree = repository.tree_of(revision, names)
    if at is not None and repository.head is not None:
        before = repository.tree_of("HEAD", names)
        kept = [name for name in names if before[name].id == tree[name].id]
        index = {name: repository.index.get(name) or tree[name] for name in kept}
        repository.index = {**tree, **index}
        tree = {**tree, **{name: working[name] for name in kept if name in working}}
    else:
        repository.index = dict(tree)
    repository.head = at
    repository.branch = revision if revision in repository.tips else None
    return Restored(tree, f"git checkout {revision}")


def _stash(repository: Repository, git: GitCall, working: Tree, names: list[str]) -> Restored | None:
    verb = next((item for item in git.arguments if not item.startswith("-")), "push")
    if verb in ("push", "save"):
        repository.stashes.append(dict(working))
        tree = repository.tree_of("HEAD", names) if repository.head is not None else {}
        repository.index = dict(tree)
        return Restored(tree, "git stash")
    if verb in ("pop", "apply") and repository.stashes:
        tree = repository.stashes[-1] if verb == "apply" else repository.stashes.pop()
        return Restored(dict(tree), f"git stash {verb}")
    if verb == "drop" and repository.stashes:
        repository.stashes.pop()
    if verb == "clear":
        repository.stashes.clear()
    return None


def _reset(repository: Repository, git: GitCall, names: list[str], named: Named) -> Restored | None:
    plain = [item for item in git.arguments if not item.startswith("-")]
    chosen = artifact_files(git.directory, git.paths, named)
    if chosen:
        repository.index.update(repository.tree_of("HEAD", chosen))
        return None
    revision = plain[0] if plain else "HEAD"
    at = repository.find(revision)
    tree = repository.tree_of(revision, names)
    if not git.has("--soft"):
        repository.index = dict(tree)
    repository.head = at
    if repository.branch is not None and at is not None:
        repository.tips[repository.branch] = at
    return Restored(tree, f"git reset --hard {revision}") if git.has("--hard", "--merge", "--keep") else None
