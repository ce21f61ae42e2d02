"""Rebuild an agent's repository from its archive: objects, refs and logs, each checked; nothing that acts.

Config, hooks, attributes, alternates, worktrees and the agent's own pack indices are never copied: they could
run programs, read other files or lie. Every object is inflated once with bounds, so that nothing read later can
blow up.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from dulwich.object_format import SHA1
from dulwich.objects import Commit, ShaFile, Tree
from dulwich.pack import PackData
from dulwich.refs import Ref, check_ref_format
from dulwich.repo import Repo

from loopscope.records.workspace import member_path, open_tar

MAX_OBJECT = 64 << 20
"""Bytes of one inflated object; a larger one is left out."""
MAX_TOTAL = 4 << 30
"""Inflated bytes of a whole repository; reading stops there."""
MAX_PACK = 512 << 20
MAX_LOG = 16 << 20
MAX_LOGS, MAX_PACKS = 1_000, 1_000
"""Files of a kind that are kept, the first by name (HEAD's log is): each is a file of the record."""

_LOOSE = re.compile(rb"objects/([0-9a-f]{2})/([0-9a-f]{38})")
_PACK = re.compile(rb"objects/pack/(pack-[0-9a-f]{40})\.pack")
_REF = re.compile(rb"refs/(?!.*(?:\.\.|//|/\.|\.lock$|@\{))[!-~]{1,200}")
_SHA = re.compile(rb"[0-9a-f]{40}")
_TYPES = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}


@dataclass
class Salvage:
    """What was found, and what was left out and why."""

    found: bool = False
    """There was a repository at the root of the work directory."""
    notes: list[str] = field(default_factory=list)


class _Budget:
    def __init__(self) -> None:
        self.left = MAX_TOTAL
        self.logs, self.packs = MAX_LOGS, MAX_PACKS

    def check(self) -> None:
        """Stop inflating once the repository has turned out too large."""
        if self.left < 0:
            raise ValueError(f"after more than {MAX_TOTAL >> 30} GiB of objects")

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise ValueError(f"more than {MAX_TOTAL >> 30} GiB of objects")


def salvage(workspace: Path, target: Path) -> Salvage:
    """Write a clean bare repository to the new directory `target` from the `.git` inside a workspace archive."""
    report, budget, unread = Salvage(), _Budget(), Counter[str]()
    refs: dict[bytes, bytes] = {}
    head = b"ref: refs/heads/main"
    with open_tar(workspace) as archive:
        for member in archive:
            path = member_path(member)
            if path is None or not path.startswith(b".git/"):
                if path == b".git" and not member.isdir():
                    report.notes.append(".git is no directory (a link or a pointer file); it was not followed")
                continue
            if not member.isreg():
                continue
            name = path.removeprefix(b".git/")
            if what := _too_much(name, member.size, budget):
                unread[what] += 1
                continue
            stream = archive.extractfile(member)
            if stream is None:
                continue
            if name == b"HEAD":
                report.found = True
                head = stream.read(1024).strip()
            elif name == b"packed-refs":
                refs = _packed_refs(stream.read()) | refs
            elif is_ref(name) and member.size < 1024:
                refs[name] = stream.read().strip()
            elif _is_log(name):
                budget.logs -= 1
                _keep_log(name, stream.read(), target)
            elif match := _LOOSE.fullmatch(name):
                _keep_loose(match, stream.read(), target, budget, report)
            elif match := _PACK.fullmatch(name):
                budget.packs -= 1
                _keep_pack(match[1].decode(), stream.read(), target, budget, report)
    # Before all else: of many notes only the first are recorded.
    report.notes[:0] = [f"{count:,} {what} left out; the workspace has them" for what, count in unread.items()]
    if report.found:
        _write_refs(target, head, refs)
        _pack(target)
    return report


def _too_much(name: bytes, size: int, budget: _Budget) -> str | None:
    """What a file is that would be kept, were there fewer of its kind or it smaller; None for every other."""
    for is_kind, kind, most, left in (
        (_is_log(name), "reflogs", MAX_LOG, budget.logs),
        (_PACK.fullmatch(name), "packs", MAX_PACK, budget.packs),
        (_LOOSE.fullmatch(name), "objects", MAX_PACK, 1),
        (name == b"packed-refs", "lists of refs", MAX_LOG, 1),
    ):
        if is_kind and size > most:
            return f"{kind} of more than {most >> 20} MiB"
        if is_kind and not left:
            return f"{kind} beyond the first {MAX_LOGS if kind == 'reflogs' else MAX_PACKS:,}"
    return None


def is_ref(name: bytes) -> bool:
    """Whether git and dulwich both take this for the name of a ref; nothing else is ever written to disk."""
    return bool(_REF.fullmatch(name)) and check_ref_format(Ref(name))


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _is_log(name: bytes) -> bool:
    """A reflog: HEAD's, a ref's, or the stash's. Held to names of refs, so none can climb out."""
    ref = name.removeprefix(b"logs/")
    return ref != name and (ref == b"HEAD" or is_ref(ref))


def _keep_log(name: bytes, data: bytes, target: Path) -> None:
    with contextlib.suppress(FileExistsError, NotADirectoryError, IsADirectoryError):  # a forged archive
        _write(target / name.decode("ascii"), data)


def _packed_refs(data: bytes) -> dict[bytes, bytes]:
    pairs = (line.split(b" ", 1) for line in data.splitlines() if not line.startswith((b"#", b"^")))
    return {pair[1].strip(): pair[0] for pair in pairs if len(pair) == 2 and is_ref(pair[1].strip())}


def _write_refs(target: Path, head: bytes, refs: dict[bytes, bytes]) -> None:
    direct = {name: sha for name, sha in refs.items() if _SHA.fullmatch(sha)}
    points_to = head.removeprefix(b"ref: ").strip()
    if not _SHA.fullmatch(head) and not (head.startswith(b"ref: ") and is_ref(points_to)):
        head = b"ref: refs/heads/main"
    _write(target / "HEAD", head + b"\n")
    _write(target / "config", b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
    _write(
        target / "packed-refs",
        b"# pack-refs with: sorted\n" + b"".join(b"%s %s\n" % (sha, name) for name, sha in sorted(direct.items())),
    )
    for folder in ("objects/pack", "objects/info", "refs/heads", "refs/tags"):
        (target / folder).mkdir(parents=True, exist_ok=True)


def _pack(target: Path) -> None:
    """Put loose objects into one pack: a run of many commits is then a few files to keep, not thousands."""
    try:
        with Repo(str(target), bare=True) as repository:
            repository.object_store.pack_loose_objects()
    except Exception:  # they stay loose, each checked already
        return
    for folder in (target / "objects").glob("??"):
        if not any(folder.iterdir()):
            folder.rmdir()


def _keep_loose(match: re.Match[bytes], data: bytes, target: Path, budget: _Budget, report: Salvage) -> None:
    sha = (match[1] + match[2]).decode()
    try:
        budget.check()
        content = _inflate(data, MAX_OBJECT + 64)
        budget.take(len(content))
        check_object(content)
        if hashlib.sha1(content, usedforsecurity=False).hexdigest() != sha:
            raise ValueError("content does not match its id")
    except Exception as error:  # whatever a malformed object makes the library raise, it costs that object only
        report.notes.append(f"object {sha} left out: {type(error).__name__}: {error}"[:300])
        return
    _write(target / "objects" / sha[:2] / sha[2:], data)


def check_object(content: bytes) -> None:
    """Parse an object wholly, header included.

    Raises:
        Exception: it is malformed; dulwich has many kinds of errors for that.
    """
    header, _, body = content.partition(b"\0")
    kind, _, size = header.partition(b" ")
    if int(size) != len(body):
        raise ValueError("its length is not what it says")
    parsed = ShaFile.from_raw_string(_TYPES[kind], body)
    if isinstance(parsed, Tree):
        parsed.items()
    elif isinstance(parsed, Commit):
        check_commit(parsed)


def check_commit(commit: Commit) -> None:
    """See that a commit has what is read of it.

    Raises:
        ValueError: a field is absent or no object id.
    """
    ids = [commit.tree, *commit.parents]
    numbers = [commit.author_time, commit.commit_time]
    if not all(isinstance(i, bytes) and _SHA.fullmatch(i) for i in ids) or not all(isinstance(n, int) for n in numbers):
        raise ValueError("a commit without tree, author or committer")
    if not isinstance(commit.message, bytes) or not isinstance(commit.author, bytes):
        raise ValueError("a commit without message or author")


def _inflate(data: bytes, limit: int) -> bytes:
    inflater = zlib.decompressobj()
    content = inflater.decompress(data, limit)
    if not inflater.eof:
        raise ValueError(f"truncated, or larger than {MAX_OBJECT >> 20} MiB")
    return content


def _keep_pack(name: str, data: bytes, target: Path, budget: _Budget, report: Salvage) -> None:
    path = target / "objects" / "pack" / f"{name}.pack"
    try:
        budget.check()
        _check_pack(data, budget)
        _write(path, data)
        with PackData(path, object_format=SHA1) as pack:
            pack.create_index(str(path.with_suffix(".idx")))
    except Exception as error:  # whatever a malformed pack makes the library raise, it costs that pack only
        report.notes.append(f"{name}.pack left out: {type(error).__name__}: {error}")
        path.unlink(missing_ok=True)
        path.with_suffix(".idx").unlink(missing_ok=True)


def _check_pack(data: bytes, budget: _Budget) -> None:
    """Walk a pack's entries with bounds on every declared and real size (deltas: on the size they expand to)."""
    if data[:4] != b"PACK" or int.from_bytes(data[4:8]) not in (2, 3):
        raise ValueError("not a pack")
    position = 12
    for _ in range(int.from_bytes(data[8:12])):
        kind, size, position = _entry_header(data, position)
        if size > MAX_OBJECT:
            raise ValueError(f"an object of {size} bytes")
        if kind == 6:
            while data[position] & 0x80:
                position += 1
            position += 1
        elif kind == 7:
            position += 20
        inflater = zlib.decompressobj()
        content = inflater.decompress(memoryview(data)[position:], size + 1)
        if len(content) != size or not inflater.eof:
            raise ValueError("an entry that is not as long as it says")
        expands_to = _delta_target(content) if kind in (6, 7) else size
        if expands_to > MAX_OBJECT:
            raise ValueError(f"a delta that expands to {expands_to} bytes")
        budget.take(expands_to)
        position = len(data) - len(inflater.unused_data)


def _entry_header(data: bytes, position: int) -> tuple[int, int, int]:
    byte = data[position]
    position += 1
    kind, size, shift = (byte >> 4) & 7, byte & 15, 4
    while byte & 0x80:
        byte = data[position]
        position += 1
        size |= (byte & 0x7F) << shift
        shift += 7
    return kind, size, position


def _delta_target(content: bytes) -> int:
    """The second of a delta's two leading numbers: the size of what it makes."""
    value = position = 0
    for _ in range(2):
        value = shift = 0
        while True:
            byte = content[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
    return value
