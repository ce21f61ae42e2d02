"""Where builds put what they build."""

from __future__ import annotations

import posixpath
import re

from loopscope.evidence.shell.builds import BuildFinding
from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commands import SimpleCommand, resolve

_OUTPUT_OPTION = re.compile(
    r"^[ \t]{0,20}\S{0,200}?(?:gcc|g\+\+|cc|clang|clang\+\+|nvcc|rustc|go build)\b.*? -o (\S+)", re.MULTILINE
)


def outputs(shell: ShellCall, command: SimpleCommand, build: BuildFinding) -> list[str]:
    """Paths that a build that succeeded makes; one that ends with `/` stands for what is below it."""
    tool = build.tool
    if tool.outputs:
        return list(tool.outputs)
    if tool.directory is None:
        return []
    if tool.family == "rust" and tool.label.startswith("cargo"):
        return [posixpath.normpath(posixpath.join(tool.directory, "target")) + "/"]
    if tool.family == "rust":
        return [
            posixpath.splitext(posixpath.join(tool.directory, posixpath.basename(path)))[0] for path in tool.sources
        ]
    if tool.label in ("go test", "go vet", "syntax check", "py_compile"):
        return []
    if tool.family == "make":
        echoed = [path for name in _OUTPUT_OPTION.findall(shell.text) if (path := resolve(tool.directory, name))]
        if echoed:
            return echoed
    if tool.family == "c":
        return [posixpath.join(tool.directory, "a.out")] if "-c" not in command.arguments else []
    return [posixpath.normpath(tool.directory) + "/"]
