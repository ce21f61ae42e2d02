"""What a build is told beyond its files: macros, variables of make, features and compiler options."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from loopscope.evidence.shell.build_tools import BuildTool
from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commands import SimpleCommand

_VARIABLE = re.compile(r"([A-Za-z_]\w*)\s*[:?+]?=(.*)", re.DOTALL)
_RUNS_WITH = re.compile(
    r"(?:\w*ARGS|\w*RUNS|ITER\w*|SEED|REPEATS?|REPS?|THREADS?|JOBS|V|VERBOSE|Q|QUIET|SHELL|DESTDIR|PREFIX|prefix|"
    r"\w+_(?:HOME|PATH|DIR|ROOT)|CUDA_VISIBLE_DEVICES|OUT\w*|BIN\w*|TARGET|NAME|MSG|MESSAGE)\Z"
)
"""Variables of make that say how to run, where to put or how much to print, not what to compile."""
_SAME_TOOL = {"CC": ("cc", "gcc"), "CXX": ("c++", "g++"), "NVCC": ("nvcc",), "GO": ("go",), "CARGO": ("cargo",)}
_SILENT = re.compile(
    r"(?:-W(?!l,|a,|p,)\S*|-Xcompiler[ =](?:-W|-f?diagnostics)\S*|-g\d?|-ggdb\S*|-lineinfo|-G0|-v|-pipe|-save-temps\S*|"
    r"-(?:-keep|keep)\S*|--?res(?:ource)?-usage|--ptxas-options[ =]-v|-Xptxas[ =]-v|-m(?:=\d+)?|-S|-d=ssa/\S*|"
    r"--emit(?:[ =]\S*)?|-C ?debuginfo\S*|-[AW] ?\S*|--cap-lints\S*|-D ?warnings)\Z"
)
"""Options that only print, warn, or keep what helps debugging."""
_TAKES = frozenset(
    ["-Xcompiler", "-Xptxas", "--ptxas-options", "-C", "-A", "-W", "-Z", "-D", "-U", "--cfg", "--emit", "-gencode"]
)
_GO = {"-tags": "tags", "-gcflags": "gcflags", "-ldflags": "ldflags", "-asmflags": "asmflags", "-pgo": "pgo"}
_GO_SWITCHES = frozenset(["-race", "-msan", "-asan"])
_GO_ENVIRONMENT = ("GOFLAGS", "GOAMD64", "GOARM64", "GOEXPERIMENT", "CGO_CFLAGS")
_CARGO_VERBS = frozenset(["cargo build", "cargo b", "cargo run", "cargo r", "cargo rustc", "cargo install"])


class FlagKind(StrEnum):
    """How a build was told something."""

    MACRO = "macro"
    """`-DNAME=VALUE` to a compiler."""
    VARIABLE = "variable"
    """`make NAME=VALUE`."""
    ENVIRONMENT = "environment"
    """A variable that stands before the command, or was exported."""
    FEATURES = "features"
    """`cargo --features`, `go -tags`."""
    OPTION = "option"


@dataclass(frozen=True, slots=True)
class BuildFlag:
    """One thing that a build is told."""

    kind: FlagKind
    name: str
    value: str
    """Normalised: the order of options and those that only print do not matter."""
    literal: bool = True
    """Whether the value is known in full."""

    def __str__(self) -> str:
        name = f"-D{self.name}" if self.kind is FlagKind.MACRO else self.name
        return f"{name}={self.value}"


def build_flags(shell: ShellCall, command: SimpleCommand, tool: BuildTool) -> tuple[BuildFlag, ...]:
    """What a command tells a build that could make another program of the same files.

    Switches of a compiler that is called directly (`-O3`) are left out, its macros are not: such a call always has to
    name all switches, so that they do not tell whether it departs from anything.

    Args:
        shell: the call, whose earlier commands may have exported variables.
        command: the build.
        tool: what it is.
    """
    environment = _environment(shell, command)
    if tool.family == "make":
        found = list(_of_make(command, environment))
    elif tool.family in ("c", "asm"):
        found = list(_macros(command))
    elif tool.label in _CARGO_VERBS:
        found = list(_of_cargo(command, environment))
    elif tool.label in ("go build", "go run", "go install"):
        found = list(_of_go(command, environment))
    else:
        return ()
    # Of one that is given twice the last counts.
    last = {(item.kind, item.name): item for item in found if item.value}
    return tuple(last[key] for key in sorted(last))


def _environment(shell: ShellCall, command: SimpleCommand) -> Mapping[str, tuple[str, bool]]:
    """Variables that a command finds, as far as its own script sets them."""
    plain: dict[str, tuple[str, bool]] = {}
    exported: dict[str, tuple[str, bool]] = {}
    for earlier in shell.script.commands[: command.order]:
        if earlier.words:
            continue
        given = {name: (value.text, value.literal) for name, value in earlier.assignments}
        if re.match(r"export\b|declare -x|typeset -x", earlier.text):
            exported.update(given)
            exported.update({name: plain[name] for name in earlier.text.split()[1:] if name in plain})
        else:
            plain.update(given)
            exported.update({name: value for name, value in given.items() if name in exported})
    return {**exported, **{name: (value.text, value.literal) for name, value in command.assignments}}


def _of_make(command: SimpleCommand, environment: Mapping[str, tuple[str, bool]]) -> Iterator[BuildFlag]:
    for name, (value, literal) in environment.items():
        # Of others make takes no notice unless its file does, which for these is the custom.
        if name.endswith("FLAGS") and name != "MAKEFLAGS":
            yield BuildFlag(FlagKind.ENVIRONMENT, name, normal(value), literal)
    for word in command.words[1:]:
        match = _VARIABLE.fullmatch(word.text)
        if match is None or _RUNS_WITH.match(match[1]):
            continue
        name, value = match[1], match[2].strip()
        if posixpath.basename(value) not in _SAME_TOOL.get(name, ()):
            yield BuildFlag(FlagKind.VARIABLE, name, normal(value), word.literal)


def _macros(command: SimpleCommand) -> Iterator[BuildFlag]:
    words = iter(command.words[1:])
    for word in words:
        text, literal = word.text, word.literal
        if text in ("-D", "-U", "--define-macro", "--undefine-macro"):
            following = next(words, None)
            if following is None:
                return
            text, literal = f"-{'U' if 'U' in text or 'undef' in text else 'D'}{following.text}", following.literal
        if re.match(r"-[DU][A-Za-z_]", text):
            name, given, value = text[2:].partition("=")
            yield BuildFlag(FlagKind.MACRO, name, "(none)" if text[1] == "U" else value if given else "1", literal)


def _of_cargo(command: SimpleCommand, environment: Mapping[str, tuple[str, bool]]) -> Iterator[BuildFlag]:
    for name, (value, literal) in environment.items():
        if name in ("RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS") or name.startswith("CARGO_PROFILE_"):
            yield BuildFlag(FlagKind.ENVIRONMENT, name.removeprefix("CARGO_BUILD_"), normal(value), literal)
    features: set[str] = set()
    known = True
    words = list(command.words[1:])
    for number, word in enumerate(words):
        text = word.text
        following = words[number + 1] if number + 1 < len(words) else None
        if text == "--":
            break
        if text in ("--features", "-F") and following is not None:
            features.update(_listed(following.text))
            known &= following.literal
        elif text.startswith(("--features=", "-F")) and text != "-F":
            features.update(_listed(text.partition("=")[2] or text[2:]))
            known &= word.literal
        elif text in ("--all-features", "--no-default-features"):
            yield BuildFlag(FlagKind.FEATURES, text, "1")
        elif text == "--config" and following is not None:
            yield BuildFlag(FlagKind.OPTION, f"{text} {following.text.partition('=')[0].strip()}",
                            following.text.partition("=")[2].strip(), following.literal)  # fmt: skip
    yield BuildFlag(FlagKind.FEATURES, "features", ",".join(sorted(features)), known)
    if command.arguments[:1] == ("rustc",) and "--" in command.arguments:
        rest = words[command.arguments.index("--") + 1 :]
        value = normal(shlex.join(item.text for item in rest))
        yield BuildFlag(FlagKind.OPTION, "rustc", value, all(item.literal for item in rest))


def _of_go(command: SimpleCommand, environment: Mapping[str, tuple[str, bool]]) -> Iterator[BuildFlag]:
    for name in _GO_ENVIRONMENT:
        if name in environment:
            value, literal = environment[name]
            yield BuildFlag(FlagKind.ENVIRONMENT, name, normal(value), literal)
    words = iter(command.words[1:])
    for word in words:
        option, given, value = word.text.partition("=")
        option = f"-{option.lstrip('-')}" if option.startswith("-") else option
        literal = word.literal
        if option in _GO_SWITCHES:
            yield BuildFlag(FlagKind.OPTION, option, "1")
        elif option in _GO:
            if not given:
                following = next(words, None)
                value, literal = (following.text, literal and following.literal) if following else ("", literal)
            value = re.sub(r"^(?:all|\./\.\.\.|\.)=", "", value)
            if option == "-tags":
                yield BuildFlag(
                    FlagKind.FEATURES, "tags", ",".join(sorted({*re.split(r"[,\s]+", value)} - {""})), literal
                )
            elif not (option == "-pgo" and value == "auto"):
                yield BuildFlag(FlagKind.OPTION, option, normal(value), literal)


def _listed(text: str) -> list[str]:
    """The items of a list with commas or blanks."""
    return sorted({item for item in re.split(r"[,\s]+", text) if item})


def normal(value: str) -> str:
    """A list of options in a fixed order, without those that change nothing of what is built."""
    return " ".join(sorted({item for item in _options(value) if not _SILENT.match(item)}))


def _options(value: str) -> Iterator[str]:
    try:
        words = shlex.split(value)
    except ValueError:
        words = value.split()
    rest = iter(words)
    for word in rest:
        yield f"{word} {next(rest, '')}".rstrip() if word in _TAKES else _attached(word)


def _attached(word: str) -> str:
    """`-Copt-level=3` as `-C opt-level=3`."""
    return f"-C {word[2:]}" if re.match(r"-C[a-z]", word) else word


def departing(flags: Iterable[BuildFlag], texts: Mapping[str, str]) -> tuple[BuildFlag, ...]:
    """The flags that are not what the files say anyway, as far as the files are known.

    Args:
        flags: of a build.
        texts: what is known of the files around it, by name: sources, `Makefile`, `Cargo.toml`, `.cargo/config.toml`.
    """
    known = [(posixpath.basename(name), text) for name, text in texts.items()]
    return tuple(item for item in flags if not any(_says(item, name, text) for name, text in known))


def _says(flag: BuildFlag, name: str, text: str) -> bool:
    """Whether a file says by itself what a flag says."""
    if not flag.literal or flag.name not in text.replace("rustflags", "RUSTFLAGS").replace(
        "default", "features default"
    ):
        return False
    if name.lower() in ("makefile", "gnumakefile") or name.endswith(".mk"):
        return _make_says(flag, text)
    if name == "config.toml" and flag.name == "RUSTFLAGS":
        listed = re.search(r"^\s*rustflags\s*=\s*\[([^\]]*)\]", text, re.MULTILINE)
        return listed is not None and normal(" ".join(re.findall(r'"([^"]*)"', listed[1]))) == flag.value
    if name == "Cargo.toml" and flag.name == "features":
        listed = re.search(r"^\s*default\s*=\s*\[([^\]]*)\]", text, re.MULTILINE)
        return listed is not None and {*flag.value.split(",")} <= {*re.findall(r'"([^"]*)"', listed[1])}
    if flag.kind is FlagKind.MACRO:
        defined = re.findall(rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(flag.name)}\b[ \t]*(.*)$", text, re.MULTILINE)
        return bool(defined) and all(_bare(item) == _bare(flag.value) for item in defined)
    return False


def _make_says(flag: BuildFlag, text: str) -> bool:
    if flag.kind is FlagKind.MACRO:
        given = re.search(rf"(?<!\S)-D ?{re.escape(flag.name)}(?:=(\S+))?(?!\S)", text)
        return given is not None and (given[1] or "1") == flag.value
    assigned = re.findall(rf"^[ ]*(?:export )?{re.escape(flag.name)}[ \t]*([:?+]?)=[ \t]*(.*)$", text, re.MULTILINE)
    if not assigned:
        return False
    if flag.kind is FlagKind.ENVIRONMENT and all(operator != "?" for operator, _ in assigned):
        return all(operator != "+" for operator, _ in assigned)
    return all(normal(value.partition(" #")[0]) == flag.value for _, value in assigned)


def _bare(value: str) -> str:
    """A macro's value without its comment, brackets and suffixes."""
    value = re.split(r"//|/\*", value, maxsplit=1)[0].strip()
    return value.strip("() ").rstrip("uUlLfF") if re.match(r"[(\d]", value) else value
