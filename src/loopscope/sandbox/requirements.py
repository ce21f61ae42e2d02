"""Which tools a task's image would bring, and which of them the sandbox lacks."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_DEBIAN: dict[str, tuple[str, ...]] = {
    "build-essential": ("gcc", "g++", "make"),
    "gcc": ("gcc",),
    "g++": ("g++",),
    "clang": ("clang",),
    "llvm": ("llvm-config",),
    "make": ("make",),
    "cmake": ("cmake",),
    "ninja-build": ("ninja",),
    "meson": ("meson",),
    "pkg-config": ("pkg-config",),
    "autoconf": ("autoconf",),
    "automake": ("automake",),
    "gfortran": ("gfortran",),
    "nasm": ("nasm",),
    "git": ("git",),
    "python3-minimal": ("python3",),
    "python3-dev": ("python3",),
    "python3": ("python3",),
    "python-is-python3": ("python",),
    "rustc": ("rustc",),
    "cargo": ("cargo",),
    "golang": ("go",),
    "golang-go": ("go",),
    "nodejs": ("node",),
    "npm": ("npm",),
    "openjdk-17-jdk": ("javac", "java"),
    "default-jdk": ("javac", "java"),
    "default-jre": ("java",),
    "perl": ("perl",),
    "ruby": ("ruby",),
    "php-cli": ("php",),
    "lua5.4": ("lua5.4",),
    "ghc": ("ghc",),
    "julia": ("julia",),
    "ocaml": ("ocaml",),
    "sqlite3": ("sqlite3",),
    "jq": ("jq",),
    "bc": ("bc",),
    "gawk": ("gawk",),
    "xxd": ("xxd",),
    "time": ("time",),
    "procps": ("ps",),
    "file": ("file",),
    "unzip": ("unzip",),
    "zip": ("zip",),
    "xz-utils": ("xz",),
    "zstd": ("zstd",),
    "bzip2": ("bzip2",),
    "rsync": ("rsync",),
    "tmux": ("tmux",),
    "vim": ("vim",),
    "nano": ("nano",),
    "ffmpeg": ("ffmpeg",),
    "imagemagick": ("convert",),
    "graphviz": ("dot",),
    "valgrind": ("valgrind",),
    "gdb": ("gdb",),
    "strace": ("strace",),
    "linux-perf": ("perf",),
    "bubblewrap": ("bwrap",),
    "util-linux": ("unshare",),
    "nvidia-cuda-toolkit": ("nvcc",),
}
"""Debian package to the commands it brings: the common ones. A package not listed here is not checked."""

_IMAGES: dict[str, tuple[str, ...]] = {
    "python": ("python3", "python-is-python3"),
    "gcc": ("build-essential",),
    "rust": ("cargo", "rustc"),
    "golang": ("golang",),
    "node": ("nodejs", "npm"),
    "openjdk": ("default-jdk",),
    "eclipse-temurin": ("default-jdk",),
    "ruby": ("ruby",),
    "perl": ("perl",),
    "php": ("php-cli",),
    "haskell": ("ghc",),
    "julia": ("julia",),
    "nvidia/cuda": ("nvidia-cuda-toolkit",),
}
"""Base image to the Debian packages that bring the same commands."""

_HINTS = {tool: f"Debian: apt-get install {package}" for package, tools in _DEBIAN.items() for tool in tools} | {
    "gcc": "Debian: apt-get install gcc libc6-dev",
    "nvcc": "NVIDIA's CUDA toolkit",
}
"""How to get a command: by the last package of the table that brings it, except where that is not enough."""

_PACKAGES = {tool: package for package, tools in _DEBIAN.items() for tool in tools}


def package_of(tool: str) -> str | None:
    """The Debian package that brings a command: the last of the table that does; None when it knows none."""
    return _PACKAGES.get(tool)


_MODULES: dict[str, str] = {
    "scikit-learn": "sklearn",
    "scikit-image": "skimage",
    "pyyaml": "yaml",
    "pillow": "PIL",
    "opencv-python": "cv2",
    "opencv-python-headless": "cv2",
    "beautifulsoup4": "bs4",
    "python-dateutil": "dateutil",
    "pytest-xdist": "xdist",
    "protobuf": "google.protobuf",
}

_BUILD_TOOLS = frozenset(["pip", "setuptools", "wheel", "uv", "hatchling", "cython", "pybind11", "virtualenv"])


@dataclass
class Requirements:
    """Commands and Python modules that must be there, each with the package that brings it."""

    tools: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)

    def _tool(self, name: str) -> None:
        self.tools.setdefault(name, _HINTS.get(name, f"Debian: apt-get install {name}"))

    def add_image(self, image: str) -> None:
        """What the base image implies: `python:3.12` python3, `gcc:14` gcc, and so on."""
        name = re.sub(r"[:@].*$", "", image.lower())
        for known, packages in _IMAGES.items():
            if name == known or name.endswith(f"/{known}"):
                for package in packages:
                    self.add_debian(package)

    def add_install(self, words: Sequence[str], context: Path) -> None:
        """What a skipped installation would have brought; `context` is where a requirements file would be."""
        name = words[0].rsplit("/", 1)[-1]
        if re.fullmatch(r"python[\d.]*", name):
            words, name = words[2:], "pip"
        if name == "uv" and words[1:2] == ["pip"]:
            words, name = words[1:], "pip"
        rest = [w for w in words[1:] if w != "||"]
        if name in ("apt-get", "apt", "aptitude") and "install" in rest:
            for package in _packages(rest):
                self.add_debian(package)
        elif name in ("pip", "pip3") and "install" in rest:
            self._add_pip(rest, context)
        elif name in ("curl", "wget", "rustup") and any("rustup" in w for w in words):
            self._tool("cargo")
            self._tool("rustc")
        elif name == "ln":
            target = words[-1].rstrip("/").rsplit("/", 1)[-1]
            if re.match(r"^/(usr/(local/)?)?s?bin/[\w.+-]+$", words[-1]):
                self._tool(target)

    def add_debian(self, package: str) -> None:
        """A Debian package by name (version and architecture suffixes are ignored)."""
        package = re.split(r"[=:/]", package, maxsplit=1)[0]
        if versioned := re.fullmatch(r"(gcc|g\+\+|clang|python3)[-.]?\d+(\.\d+)*", package):
            package = versioned[1]
        for tool in _DEBIAN.get(package, ()):
            self._tool(tool)
        if (module := re.fullmatch(r"python3-(\w+)", package)) and module[1] not in ("dev", "pip", "venv", "minimal"):
            self._module(module[1], f"Debian: apt-get install {package}")

    def _module(self, package: str, hint: str) -> None:
        package = re.sub(r"[_.]+", "-", package.lower())
        if package not in _BUILD_TOOLS:
            self.modules.setdefault(_MODULES.get(package, package.replace("-", "_")), hint)

    def _add_pip(self, words: Sequence[str], context: Path) -> None:
        specifications = list(_packages(words))
        for i, word in enumerate(words):
            if word in ("-r", "--requirement") and i + 1 < len(words):
                file = context / words[i + 1].rsplit("/", 1)[-1]
                if file.is_file():
                    specifications += file.read_text(encoding="utf-8", errors="replace").splitlines()
        for text in specifications:
            if found := re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", text):
                self._module(found[1], f"environment kwargs: python_packages: [{found[1]}]")

    def missing_tools(self, path: str) -> dict[str, str]:
        """Tools that no directory of `path` (as on the host) holds."""
        return {tool: hint for tool, hint in self.tools.items() if shutil.which(tool, path=path) is None}


# fmt: off
_WITH_VALUE = frozenset([
    "-r", "--requirement", "-t", "--target-release", "-c", "--constraint", "-i", "--index-url", "--extra-index-url",
    "-f", "--find-links", "-o", "--target", "--root", "--prefix",
])
# fmt: on


def _packages(words: Iterable[str]) -> list[str]:
    """Arguments after `install` that name packages: no options, no option values, no paths."""
    found: list[str] = []
    skip = installing = False
    for word in words:
        if skip:
            skip = False
        elif word in _WITH_VALUE:
            skip = True
        elif word == "install":
            installing = True
        elif word in ("|", ">", "true", "&"):
            break
        elif installing and not word.startswith(("-", ".", "/", ">", "2>")) and "://" not in word:
            found.append(word)
    return found
