"""Loopscope itself: interpreter, Harbor, the sandbox's python, texts, keys."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

from loopscope.sandbox import toolchain
from loopscope.sandbox.doctor.finding import Area, Finding, Need, State
from loopscope.sandbox.doctor.machine import Machine
from loopscope.sandbox.doctor.programs import python_says
from loopscope.sandbox.errors import SandboxError

KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
    "MOONSHOT_API_KEY",
    "KIMI_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "TOGETHER_API_KEY",
    "DASHSCOPE_API_KEY",
    "ZAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "DAYTONA_API_KEY",
    "E2B_API_KEY",
    "MODAL_TOKEN_ID",
    "RUNLOOP_API_KEY",
)
"""Variables by which providers and remote environments know a user; only whether they are set is looked at."""

_INSTALL = "pip install 'loopscope[run]'"


def look_python(machine: Machine) -> Iterator[Finding]:
    """The interpreter, and whether a sandbox's users can read it."""
    fact = f"{platform.python_version()} ({sys.executable})"
    try:
        closed = toolchain.base_interpreter().unreadable() if machine.uid == 0 else None
    except (SandboxError, OSError) as error:
        yield Finding(
            Area.LOOPSCOPE,
            "Python",
            State.WEAK,
            f"{fact}: {error}",
            cost="the sandbox has no python of its own",
            remedy="run loopscope on the distribution's python3, uv's or pyenv's",
        )
        return
    if closed:
        yield Finding(
            Area.LOOPSCOPE,
            "Python",
            State.MISSING,
            f"{fact}: other users cannot read {closed}",
            cost="the sandbox's users, who are others than root, cannot run it",
            commands=(f"chmod -R o+rX {closed}",),
            need=Need.REQUIRED,
        )
    else:
        yield Finding(Area.LOOPSCOPE, "Python", State.OK, fact)


def look_harbor(machine: Machine) -> Iterator[Finding]:
    """Harbor: there, of a version that we know, and it can be imported."""
    wanted = _requirement("harbor")
    cost = "no agent can be run and nothing scored; `analyze` and `report` work"
    try:
        found = version("harbor")
    except PackageNotFoundError:
        yield Finding(Area.LOOPSCOPE, "Harbor", State.MISSING, "missing", cost, "", (_INSTALL,), Need.REQUIRED)
        return
    code, said = python_says(machine, "import loopscope.sandbox.environment")
    if code:
        fact = f"{found} cannot be imported: {said}"
        yield Finding(Area.LOOPSCOPE, "Harbor", State.MISSING, fact, cost, "", (_INSTALL,), Need.REQUIRED)
    elif wanted and not wanted.specifier.contains(found, prereleases=True):
        fact = f"{found}; loopscope is tried with {wanted.specifier}"
        yield Finding(
            Area.LOOPSCOPE,
            "Harbor",
            State.WEAK,
            fact,
            "it may behave otherwise than loopscope expects",
            "",
            (_INSTALL,),
        )
    else:
        yield Finding(Area.LOOPSCOPE, "Harbor", State.OK, f"{found}", need=Need.REQUIRED)


def _requirement(name: str) -> Requirement | None:
    """What our own metadata says of a package."""
    try:
        listed = requires("loopscope") or []
    except PackageNotFoundError:
        return None
    return next((r for r in map(Requirement, listed) if r.name == name), None)


def look_toolchain(machine: Machine) -> Iterator[Finding]:
    """The sandbox's python with numpy: built, or what building it needs."""
    try:
        place = toolchain.location()
    except (SandboxError, OSError) as error:
        yield Finding(
            Area.LOOPSCOPE, "sandbox's python", State.UNKNOWN, str(error), "the sandbox has no python of its own"
        )
        return
    packages = ", ".join(toolchain.DEFAULT_PACKAGES)
    if (place / "pyvenv.cfg").is_file():
        yield Finding(Area.LOOPSCOPE, "sandbox's python", State.OK, f"built, with {packages} ({place})")
        return
    build = "from loopscope.sandbox.toolchain import build; build()"
    yield Finding(
        Area.LOOPSCOPE,
        "sandbox's python",
        State.WEAK,
        f"not built yet (python with {packages})",
        cost="the first run builds it, for which it needs a package index",
        remedy="to have it beforehand:",
        commands=(f'{sys.executable} -c "{build}"',),
        need=Need.OPTIONAL,
    )


def look_texts(machine: Machine) -> Iterator[Finding]:
    """Whether texts that are not ASCII can be written."""
    names = (sys.getfilesystemencoding(), sys.stdout.encoding or "unknown")
    if all(re.sub(r"[-_]", "", name.lower()) == "utf8" for name in names):
        yield Finding(Area.LOOPSCOPE, "texts", State.OK, "UTF-8")
        return
    yield Finding(
        Area.LOOPSCOPE,
        "texts",
        State.WEAK,
        f"file names in {names[0]}, output in {names[1]}",
        cost="names and messages with other letters are garbled or refused",
        commands=("export LANG=C.UTF-8 PYTHONUTF8=1",),
        need=Need.OPTIONAL,
    )


def look_keys(machine: Machine) -> Iterator[Finding]:
    """Which keys are set, by name. Their values are not looked at further than for stray blanks."""
    present = [name for name in KEYS if name in machine.env]
    usable = [name for name in present if machine.env[name].strip()]
    odd = [name for name in usable if machine.env[name] != machine.env[name].strip()]
    empty = [name for name in present if name not in usable]
    if usable:
        yield Finding(Area.AGENTS, "keys", State.OK, f"set: {', '.join(usable)}", need=Need.OPTIONAL)
    else:
        yield Finding(
            Area.AGENTS,
            "keys",
            State.MISSING,
            "none of the known ones is set",
            cost="agents that call a model have none; `search`, `oracle` and `nop` need none",
            remedy="export the key of your provider, such as ANTHROPIC_API_KEY, and name it in the study file",
            need=Need.OPTIONAL,
        )
    if odd or empty:
        parts = [f"empty: {', '.join(empty)}"] if empty else []
        parts += [f"with a blank or line break at its end: {', '.join(odd)}"] if odd else []
        yield Finding(
            Area.AGENTS,
            "keys: values",
            State.WEAK,
            "; ".join(parts),
            cost="the provider will refuse it",
            remedy="export it again",
            need=Need.OPTIONAL,
        )
