"""What the editing tools of the harnesses make of files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from loopscope.evidence.artifact.contents import Files, Version, derived, known, replaced
from loopscope.transcripts.canonical import Call, ToolKind

_REFUSED = re.compile(
    r"\s*(?:<tool_use_error>|Error\b|error:|Exit code [1-9]|File has (?:not been read|been (?:\w+ )?modified)|"
    r"String to replace not found|No changes to make|Found \d+ matches of the string|No replacements? \w+ made|"
    r"Failed to|The user doesn't want|old_string not found|oldString not found|Could not find|verification failed|"
    r"apply_patch verification failed|Permission denied|<system-reminder>.*does not exist)",
    re.IGNORECASE,
)  # fmt: skip
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)


def refused(call: Call) -> bool:
    """Whether an edit did not happen."""
    if call.result is None:
        return True
    return call.result.is_error is True or bool(_REFUSED.match(call.result.text[:300]))


def changes(call: Call, files: Files, name: str) -> Version | None:
    """What an edit or a write makes of a file; None when it changes nothing that is known.

    Args:
        call: an EDIT or WRITE call that was not refused.
        files: the present versions.
        name: by which `files` knows the file.
    """
    base = files.get(name)
    if call.kind is ToolKind.WRITE:
        text = _first(call.arguments, "content", "file_text", "contents", "text")
        if text is None:
            return derived(base, "write", str(call.index))
        if call.arguments.get("mode") == "append":
            return known(base.text + text) if base.text is not None else derived(base, "append", text)
        return known(text)
    version = base
    seen = False
    for old, new, every in replacements(call.arguments):
        made = replaced(version, old, new, every)
        seen = True
        # What the harness did although the text should not allow it: the text was not what it seemed.
        version = made if made is not None else derived(version, "replace", old, new, str(every))
    return version if seen else derived(base, "edit", str(call.index))


def replacements(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """What an edit replaces: (old text, new text, every occurrence)."""
    edits = arguments.get("edits", arguments.get("edit"))
    listed = edits if isinstance(edits, list) else [edits] if isinstance(edits, dict) else [arguments]
    for item in listed:
        if isinstance(item, dict) or item is arguments:
            old = _first(item, "old_string", "oldString", "old_str", "old")
            new = _first(item, "new_string", "newString", "new_str", "new")
            if old is not None and new is not None:
                every = any(item.get(key) is True for key in ("replace_all", "replaceAll"))
                yield old, new, every


def _first(arguments: Mapping[str, Any], *names: str) -> str | None:
    return next((value for name in names if isinstance(value := arguments.get(name), str)), None)


def patched_files(call: Call) -> Iterator[tuple[str, str]]:
    """The files of an `apply_patch` call, each with its part of the patch."""
    text = _first(call.arguments, "input", "patch", "patchText", "content") or call.command or ""
    found = list(_PATCHED.finditer(text))
    for number, match in enumerate(found):
        end = found[number + 1].start() if number + 1 < len(found) else len(text)
        yield match[2].strip(), text[match.start() : end]
