"""Takes package installations out of a RUN command and leaves the rest as it was."""

from __future__ import annotations

import re
import shlex

# fmt: off
_INSTALLERS = frozenset([
    "apt", "apt-get", "aptitude", "dpkg", "apk", "yum", "dnf", "microdnf", "zypper", "conda", "mamba",
    "micromamba", "pip", "pip3", "pipx", "uv", "poetry", "npm", "npx", "yarn", "pnpm", "gem", "rustup", "curl",
    "wget", "add-apt-repository", "apt-key", "locale-gen", "update-alternatives", "useradd", "groupadd",
    "adduser", "addgroup", "corepack", "sdkmanager", "ldconfig", "update-ca-certificates",
])
# fmt: on
_TWO_WORDS = frozenset([("git", "clone"), ("cargo", "install"), ("go", "install"), ("go", "get"), ("go", "mod")])
_COMPOUND = frozenset(["if", "for", "while", "until", "case", "{", "(", "function", "select", "[["])
_CLEANED = ("/var/lib/apt", "/var/cache/apt", "/root/.cache", "~/.cache", "/tmp/*", "/tmp/", "/var/tmp")  # noqa: S108
_SYSTEM_TARGET = re.compile(r"^/(usr|bin|sbin|lib\w*|etc)/")


def split(command: str) -> list[tuple[str, str]]:
    """(separator before, segment) at the top level of a shell list: `&&`, `;`, newline outside quotes and brackets."""
    parts: list[tuple[str, str]] = []
    separator, current, depth, quote, i = "", "", 0, "", 0
    while i < len(command):
        c = command[i]
        step = 1
        if c == "\\" and quote != "'":
            step = 2
        elif quote:
            quote = "" if c == quote else quote
        elif c in "'\"`":
            quote = c
        elif c in "({":
            depth += 1
        elif c in ")}":
            depth -= 1
        elif depth == 0 and (command.startswith("&&", i) or (c in ";\n" and not command.startswith(";;", i))):
            found = "&&" if c == "&" else c
            parts.append((separator, current))
            separator, current = found, ""
            i += len(found)
            continue
        current += command[i : i + step]
        i += step
    parts.append((separator, current))
    return parts


def words_of(segment: str) -> list[str]:
    """Words of a simple command without leading assignments and `sudo`; empty when it does not parse."""
    try:
        words = shlex.split(segment, comments=True)
    except ValueError:
        return []
    while words and (re.match(r"\w+=", words[0]) or words[0] in ("sudo", "exec", "env", "command", "time")):
        words = words[1:]
    return words


def installs(words: list[str]) -> bool:
    """Whether a simple command fetches or installs software, or cleans up after that."""
    if not words:
        return False
    name = words[0].rsplit("/", 1)[-1]
    if name in _INSTALLERS or tuple(words[:2]) in _TWO_WORDS:
        return True
    if re.fullmatch(r"python[\d.]*", name) and words[1:3] in (["-m", "pip"], ["-m", "ensurepip"]):
        return True
    if name == "rm":
        return all(w.startswith("-") or w.startswith(_CLEANED) for w in words[1:])
    return name == "ln" and len(words) > 2 and bool(_SYSTEM_TARGET.match(words[-1]))


def without_installs(command: str) -> tuple[str, list[list[str]]]:
    """(the command without installations, the word lists of those taken out). Empty when nothing else is left.

    A compound command (if, for, a group) is left whole: what it would do cannot be told from its text. Only a loop that
    does nothing but install (links programs into /usr/local/bin, say) is taken out.
    """
    parts = split(command.strip())
    taken: list[list[str]] = []
    kept: list[str] = []
    real = False
    if (body := _loop(parts)) and all(installs(words) for words in body):
        return "", body
    if any(words_of(segment)[:1] and words_of(segment)[0] in _COMPOUND for _, segment in parts):
        return command.strip(), []
    for separator, segment in parts:
        words = words_of(segment)
        if installs(words):
            taken.append(words)
            segment = " :"
        elif words and words[0] not in ("set", ":", "true", "echo"):
            real = True
        if segment.strip():
            kept.append(f"{separator}{segment}")
    joined = "".join(kept).strip()
    return (joined.removeprefix("&&").removeprefix(";").strip() if real else ""), taken


def _loop(parts: list[tuple[str, str]]) -> list[list[str]]:
    """The commands of `for ...; do ...; done` where that is the whole command; none otherwise."""
    words = [words_of(segment) for _, segment in parts if segment.strip()]
    if len(words) < 3 or words[0][:1] != ["for"] or words[1][:1] != ["do"] or words[-1] != ["done"]:
        return []
    return [line for line in (words[1][1:], *words[2:-1]) if line]


def added_user(words: list[str]) -> tuple[str, int | None] | None:
    """(name, uid or None) of `useradd ... NAME` or `adduser ... NAME`; None for any other command."""
    if words[0].rsplit("/", 1)[-1] not in ("useradd", "adduser") or len(words) < 2:
        return None
    found = re.search(r"(?:^| )(?:-u|--uid)[ =]?(\d+)", " ".join(words))
    name = next((word for word in reversed(words[1:]) if re.fullmatch(r"[a-z_][a-z0-9_-]*", word)), None)
    return (name, int(found[1]) if found else None) if name else None
