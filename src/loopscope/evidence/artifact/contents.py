"""What files hold: their text where it is known, else a name for the version that they are in."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import lru_cache

from loopscope.models.value_types import value_type

_LINE = re.compile(r" *([0-9]+)(?:→|\t|: )(.*)")
_MAX_TEXT = 4 << 20


@value_type
class Version:
    """One content of a file. Versions of equal id are the same content."""

    id: str
    text: str | None = None


def known(text: str) -> Version:
    """The version that is this text. A last line counts the same with and without its line feed."""
    text = text[:_MAX_TEXT]
    whole = text if text[-1:] == "\n" and text[-2:-1] != "\n" else text.rstrip("\n") + "\n"
    # Python's own 64 bits: edits make long texts by the thousand, and ids are compared within one run only.
    return Version(f"text:{hash(whole):x}", text)


def derived(base: Version, *operation: str) -> Version:
    """What an operation whose effect is not computed makes of a version: the same of the same, always."""
    return Version("made:" + _digest(base.id, *operation))


def unknown(*origin: str) -> Version:
    """A content of which only the origin is known."""
    return Version("from:" + _digest(*origin))


@lru_cache(maxsize=4096)
def initial(name: str) -> Version:
    """A file as it was before anything was seen of it."""
    return Version(f"initial:{name}")


def _digest(*parts: str) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode("utf-8", "surrogatepass"))
        whole.update(b"\0")
    return whole.hexdigest()[:16]


@dataclass
class Files:
    """Versions of files by name, and which versions turned out to be the same."""

    versions: dict[str, Version] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    """From the id of a version whose text became known later to the id of that text."""
    texts: dict[str, Version] = field(default_factory=dict)
    """Versions whose texts became known later, with those texts, by the id under which they were known before."""

    def get(self, name: str) -> Version:
        """The present version; that at the start where nothing has changed it."""
        version = self.versions.get(name) or initial(name)
        return self.texts.get(version.id, version)

    def knows(self, name: str) -> bool:
        """Whether the present text of a file is known."""
        version = self.versions.get(name) or initial(name)
        return version.text is not None or version.id in self.texts

    def learn(self, name: str, text: str) -> None:
        """The whole text of a file was shown."""
        if not self.knows(name):
            version = self.versions.get(name) or initial(name)
            self.texts[version.id] = shown = known(text)
            self.same[version.id] = shown.id

    def canonical(self, id: str) -> str:
        """The id by which a version is known by the end."""
        return self.same.get(id, id)


def replaced(base: Version, old: str, new: str, every: bool) -> Version | None:
    """A version with a piece of its text replaced; None when the piece is not there."""
    if base.text is None:
        return derived(base, "replace", old, new, str(every))
    if not old:
        return known(new) if not base.text else None
    at = base.text.find(old)
    if at < 0:
        return None
    return known(base.text.replace(old, new) if every else base.text[:at] + new + base.text[at + len(old) :])


def shown_whole(text: str) -> str | None:
    """The text of a file out of a numbered listing that begins with its first line; None when it is no such listing."""
    first = _LINE.match(text)
    mark = text[first.end(1) : first.start(2)] if first else "\t"
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        begin = f"{number}{mark}"
        bare = line.lstrip(" ")
        if bare.startswith(begin):
            lines.append(bare[len(begin) :])
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            if line.strip() and not line.lstrip().startswith("<"):
                return None
            break
        if found[1].lstrip("0") != str(number):  # no int(): it refuses numbers of thousands of digits
            return None
        lines.append(found[2])
    return "\n".join(lines) + "\n" if lines else None
