"""Verifiers that list the working directory: what an agent keeps there besides its solution may cost it the reward."""

from __future__ import annotations

import re
from pathlib import Path

_MOST_BYTES = 1 << 19


def lists_workdir(task_dir: Path, workdir: str) -> str | None:
    """Where the verification lists the files of the working directory (`tests/test.sh:63`); None where none is seen.

    Found are `find` in a script, and `os.walk` and `os.listdir`, on the directory by its path or as `$APP...`.
    """
    place = rf"[\"']?(?:{re.escape(workdir)}|\$\{{?APP\w*\}}?)/?[\"']?"
    pattern = re.compile(rf"\bfind\s+{place}(?=[\s)])|\bos\.(?:walk|listdir)\(\s*{place}\s*\)")
    for path in sorted((task_dir / "tests").glob("*.*"), key=lambda p: (p.name != "test.sh", p.name)):
        if path.suffix not in (".sh", ".py") or path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size > _MOST_BYTES:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if not line.lstrip().startswith("#") and pattern.search(line):
                return f"tests/{path.name}:{number}"
    return None
