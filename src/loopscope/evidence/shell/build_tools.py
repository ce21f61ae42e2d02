"""Which commands build something: compilers and build tools of C, C++, CUDA, Rust, Go, Python, assembly and shell."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from loopscope.evidence.shell.commands import SimpleCommand, resolve
from loopscope.models.value_types import value_type

_C_COMPILERS = re.compile(r"(?:[\w.]+-)*(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+|nvcc|hipcc|icpx?)(?:-\d+)?\Z")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*\Z")
_ASSEMBLERS = frozenset(["nasm", "yasm", "as", "fasm", "ptxas"])
_SOURCES = (
    ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp", ".rs", ".go", ".s", ".S", ".asm", ".py", ".pyx", ".f90",
    ".sh", ".ptx",
)  # fmt: skip
_PROGRAMS = frozenset(
    ["make", "gmake", "ninja", "cmake", "rustc", "cargo", "go", "maturin", "cython", "cythonize", "pip", "pip3",
     *_ASSEMBLERS, "bash", "sh", "zsh", "dash", "ksh"]
)  # fmt: skip
_SHELLS = frozenset(["bash", "sh", "zsh", "dash", "ksh"])
_CARGO = {"build": False, "b": False, "check": False, "c": False, "clippy": False, "rustc": False, "install": False}
_CARGO_RUNS = {"run": True, "r": True, "test": True, "t": True, "bench": True}
_GO = {"build": False, "install": False, "vet": False, "run": True, "test": True}
_ASKS = frozenset(["--version", "--help", "-dumpversion", "-dumpmachine", "--list-gpu-arch"])
_MAKE_RUNS = re.compile(r"(?:run|bench|test|check|eval|verify|perf|profile)[\w-]*\Z")
_MAKE_NOT = re.compile(r"(?:clean|distclean|mrproper|help|format|fmt|lint|print-\w+|uninstall|journal|commit)\Z")
_VALUES = {
    "c": frozenset(["-o", "-I", "-L", "-l", "-x", "-Xcompiler", "-Xptxas", "-Xlinker", "-include", "-isystem", "-D",
                    "-U", "-MF", "-MT", "-arch", "-code", "-gencode", "-std", "-maxrregcount", "-ccbin"]),
    "rust": frozenset(["-o", "-C", "-L", "-l", "--edition", "--crate-type", "--crate-name", "--out-dir", "--emit",
                       "--target", "--cfg", "-A", "-W", "-D", "-Z", "--bin", "--example", "--test", "--bench", "-p",
                       "--package", "--features", "--profile", "--manifest-path", "--target-dir", "-j", "--jobs",
                       "--color", "--message-format", "--config"]),
    "go": frozenset(["-o", "-gcflags", "-ldflags", "-tags", "-run", "-bench", "-benchtime", "-count", "-cpuprofile",
                     "-memprofile", "-cpu", "-timeout", "-p", "-mod", "-asmflags", "-trace", "-blockprofile", "-pgo"]),
    "asm": frozenset(["-o", "-f", "-l", "-I", "-arch"]),
    "make": frozenset(["-C", "-f", "-j", "-I", "-o", "-W", "--directory", "--file", "--makefile", "-l"]),
}  # fmt: skip


SYNTAX_CHECKS = frozenset(["syntax check", "py_compile", "compileall", *(f"{shell} -n" for shell in sorted(_SHELLS))])
"""Labels of builds that only look whether a text can be parsed."""


@value_type
class BuildTool:
    """What a build command does, by its arguments."""

    family: str
    """`make`, `c`, `rust`, `go`, `python`, `asm` or `shell`."""
    label: str
    """Tool and verb as people say them: `cargo build`, `nvcc`."""
    runs: bool
    """Whether it also runs what it built, so that a failure need not be the build's."""
    directory: str | None
    """Where it builds; None when unknown."""
    sources: tuple[str, ...]
    """Source files that it names, as paths; empty when the tool finds them by itself."""
    outputs: tuple[str, ...]
    """What it is told to write."""


def build_tool(command: SimpleCommand) -> BuildTool | None:
    """The build that a command is, if it is one."""
    program, arguments = command.program, command.arguments
    if not _builds(program) or (any(item in _ASKS for item in arguments) and not _has_source(arguments)):
        return None
    if program in ("make", "gmake", "ninja"):
        return _make(command, program)
    if program == "cmake":
        return _tool(command, "make", "cmake --build", False, "") if "--build" in arguments else None
    if _C_COMPILERS.match(program):
        return _compiler(command, "c", program)
    if program == "rustc":
        return _compiler(command, "rust", program)
    if program in _ASSEMBLERS:
        return _compiler(command, "asm", program)
    if program == "cargo":
        return _cargo(command)
    if program == "go":
        return _go(command)
    if program == "maturin" and arguments[:1] in (("develop",), ("build",)):
        return _tool(command, "python", f"maturin {arguments[0]}", False, "")
    if program in ("cython", "cythonize"):
        return _compiler(command, "python", program)
    if program in ("pip", "pip3") or _PYTHON.match(program):
        return _python(command)
    if program in _SHELLS and arguments[:1] == ("-n",):
        return _tool(command, "shell", f"{program} -n", False, "")
    return None


@lru_cache(maxsize=4096)
def _builds(program: str) -> bool:
    """Whether some command of a program is a build."""
    return program in _PROGRAMS or bool(_C_COMPILERS.match(program) or _PYTHON.match(program))


def _has_source(arguments: Sequence[str]) -> bool:
    return any(item.endswith(_SOURCES) for item in arguments)


def _tool(
    command: SimpleCommand, family: str, label: str, runs: bool, values: str, directory: str | None = None
) -> BuildTool:
    where = directory if directory is not None else command.cwd
    plain, outputs = _split(command.arguments, values)
    sources = tuple(path for item in plain if item.endswith(_SOURCES) and (path := resolve(where, item)))
    written = tuple(path for item in outputs if (path := resolve(where, item)))
    return BuildTool(family, label, runs, where, sources, written)


def _split(arguments: Sequence[str], values: str) -> tuple[list[str], list[str]]:
    """What is no option, and what `-o` names."""
    plain, outputs = [], []
    takes = _VALUES.get(values, frozenset())
    rest = iter(arguments)
    for item in rest:
        if item in ("-o", "--output"):
            outputs += [next(rest, "")]
        elif item.startswith("-o=") or (item.startswith("-o") and values == "c" and len(item) > 2):
            outputs.append(item[2:].lstrip("="))
        elif item in takes:
            next(rest, "")
        elif item == "--":
            break
        elif not item.startswith("-"):
            plain.append(item)
    return plain, outputs


def _make(command: SimpleCommand, program: str) -> BuildTool | None:
    arguments = command.arguments
    if any(item in ("-n", "--dry-run", "--just-print", "-q", "-p") for item in arguments):
        return None
    directory = command.cwd
    for name in _values(arguments, "-C", "--directory"):
        directory = resolve(directory, name)
    plain, _ = _split(arguments, "make")
    targets = [item for item in plain if "=" not in item and not item.isdigit()]
    if targets and all(_MAKE_NOT.match(item) for item in targets):
        return None
    tool = _tool(command, "make", program, any(_MAKE_RUNS.match(item) for item in targets), "make", directory)
    return BuildTool(tool.family, tool.label, tool.runs, directory, (), ())


def _values(arguments: Sequence[str], short: str, long: str) -> Iterator[str]:
    """The values of an option, in all the ways of giving it."""
    for number, item in enumerate(arguments):
        if item in (short, long) and number + 1 < len(arguments):
            yield arguments[number + 1]
        elif item.startswith(f"{long}="):
            yield item.partition("=")[2]
        elif item.startswith(short) and not item.startswith("--") and len(item) > len(short):
            yield item[len(short) :]


def _compiler(command: SimpleCommand, family: str, program: str) -> BuildTool | None:
    arguments = command.arguments
    compiles = _has_source(arguments) or any(item.endswith((".o", ".obj", ".cubin", ".a")) for item in arguments)
    compiles |= "-" in arguments and command.stdin_text is not None
    if not compiles or "-E" in arguments:
        return None
    return _tool(command, family, program, False, family)


def _cargo(command: SimpleCommand) -> BuildTool | None:
    verbs = [item for item in command.arguments if not item.startswith(("-", "+"))]
    known = {**_CARGO, **_CARGO_RUNS}
    if not verbs or verbs[0] not in known or "--help" in command.arguments:
        return None
    directory = command.cwd
    for name in _values(command.arguments, "--manifest-path", "--manifest-path"):
        path = resolve(directory, name)
        directory = posixpath.dirname(path) if path else None
    runs = known[verbs[0]] and "--no-run" not in command.arguments
    tool = _tool(command, "rust", f"cargo {verbs[0]}", runs, "rust", directory)
    return BuildTool(tool.family, tool.label, tool.runs, directory, (), ())


def _go(command: SimpleCommand) -> BuildTool | None:
    arguments = command.arguments
    directory = command.cwd
    while arguments[:1] == ("-C",) and len(arguments) > 1:
        directory, arguments = resolve(directory, arguments[1]), arguments[2:]
    if not arguments or arguments[0] not in _GO:
        return None
    runs = _GO[arguments[0]] and "-c" not in arguments
    return _tool(command, "go", f"go {arguments[0]}", runs, "go", directory)


def _checks_syntax(code: str) -> bool:
    # Long programs are searched for the words first, which is far quicker than trying the expression at every place.
    words = "py_compile.compile(" in code or "ast.parse(open" in code
    return words and re.search(r"\b(?:py_compile\.compile|ast\.parse\(open)", code) is not None


def _python(command: SimpleCommand) -> BuildTool | None:
    arguments = command.arguments
    if command.program in ("pip", "pip3") or arguments[:2] == ("-m", "pip"):
        local = [item for item in arguments if item in (".", "-e") or item.startswith("./")]
        return _tool(command, "python", "pip install", False, "") if "install" in arguments and local else None
    if arguments[:1] == ("-m",) and len(arguments) > 2 and arguments[1] in ("py_compile", "compileall"):
        return _tool(command, "python", arguments[1], False, "")
    if arguments[:2] in (("-m", "build"), ("-m", "maturin")):
        return _tool(command, "python", arguments[1], False, "")
    verbs = {"build_ext", "build", "install", "develop", "bdist_wheel"}
    if any(item.endswith("setup.py") for item in arguments[:1]) and verbs & set(arguments):
        return BuildTool("python", "setup.py", False, command.cwd, (), ())
    if arguments[:1] == ("-c",) and len(arguments) > 1 and _checks_syntax(arguments[1]):
        named = re.findall(r"""['"]([\w./-]+\.py)['"]""", arguments[1])
        sources = tuple(path for item in named if (path := resolve(command.cwd, item)))
        return BuildTool("python", "syntax check", False, command.cwd, sources, ())
    return None
