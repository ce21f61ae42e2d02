"""Programs: those that tasks, agents, engines and our own tests call. Every one is started, with a deadline."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from loopscope.sandbox.doctor.distribution import distribution
from loopscope.sandbox.doctor.finding import DECIDING_SEC, Area, Check, Finding, Need, State
from loopscope.sandbox.doctor.machine import Machine, ask
from loopscope.sandbox.requirements import package_of
from loopscope.sandbox.rootfs import SYSTEM_PATH


@dataclass(frozen=True)
class Tool:
    """A command that tasks may need in the sandbox."""

    name: str
    cost: str
    need: Need = Need.OPTIONAL
    version: tuple[str, ...] = ("--version",)
    also: tuple[str, ...] = ()
    """Further Debian packages without which it is of no use."""
    program: str | None = None
    """Where the file is called otherwise."""
    remedy: str = ""
    """Instead of a command, where the distribution's package is not the way."""


_REFUSED = "tasks whose image brings it are refused"
TOOLS = (
    Tool("python3", "scripts that name /usr/bin/python3 fail; `python3` alone is the sandbox's own"),
    Tool("git", "agents cannot commit: only final states are scored", Need.ADVISED),
    Tool("gcc", "tasks that compile C are refused, among the built-in ones too", Need.ADVISED, also=("libc6-dev",)),
    Tool("make", "tasks that build with make are refused", Need.ADVISED),
    Tool("g++", "tasks that compile C++ are refused"),
    Tool("ps", "agents cannot list or end processes (ps, pkill)", Need.ADVISED),
    Tool("cmake", _REFUSED),
    Tool("go", _REFUSED, version=("version",)),
    Tool("cargo", _REFUSED),
    Tool("node", _REFUSED),
    Tool("nvcc", _REFUSED, remedy="install NVIDIA's CUDA toolkit (developer.nvidia.com/cuda-downloads)"),
)

_HELLO = '#include <stdio.h>\nint main(void) { return puts("x") < 0; }\n'


def tool_checks() -> list[Check]:
    """One check per tool, so that one that hangs is one row."""
    return [
        Check(Area.TOOLS, tool.name, lambda machine, tool=tool: _look_tool(machine, tool), tool.need)  # type: ignore[misc]
        for tool in TOOLS
    ]


def _look_tool(machine: Machine, tool: Tool) -> Iterator[Finding]:
    install = () if tool.remedy else distribution(machine).install(package_of(tool.name) or tool.name, *tool.also)

    def lacking(state: State, fact: str, cost: str = tool.cost) -> Finding:
        return Finding(
            Area.TOOLS, tool.name, state, fact, cost=cost, remedy=tool.remedy, commands=install, need=tool.need
        )

    program = machine.which(tool.name, SYSTEM_PATH)
    if program is None:
        elsewhere = machine.which(tool.name)
        fact = f"only {elsewhere}, which sandboxes do not show" if elsewhere else "not installed"
        yield lacking(State.MISSING, fact)
        return
    env = {"PATH": SYSTEM_PATH}  # as in a sandbox
    answer = ask([program, *tool.version], env)
    if answer is None or answer.code != 0:
        said = answer.first_line if answer else "no such format"
        yield lacking(State.MISSING, f"{program} does not run: {said}")
        return
    fact = version_in(answer.text) or "present"
    if tool.name == "gcc":
        built = ask([program, "-x", "c", "-o", "hello", "-"], env, stdin=_HELLO)
        if built is None or built.code:
            said = built.first_line if built else "no answer"
            yield lacking(State.MISSING, f"{fact} compiles nothing: {said}", "tasks that compile C fail")
            return
        fact += " (compiles and links)"
    yield Finding(Area.TOOLS, tool.name, State.OK, fact, need=tool.need)


def version_in(text: str) -> str | None:
    """The last dotted number of the first line that has one: `gcc (Debian 12.2.0-14) 12.2.0` is 12.2.0."""
    for line in text.splitlines():
        if found := re.findall(r"(?<![\w.])v?(\d+(?:\.\d+)+[\w.-]*)", line.replace("go version go", "")):
            return str(found[0] if " " in line and line.split()[0] in ("Python", "git") else found[-1]).rstrip(".,")
    return None


@dataclass(frozen=True)
class Cli:
    """A harness's own command."""

    name: str
    install: str


CLIS = (
    Cli("claude", "npm install -g @anthropic-ai/claude-code"),
    Cli("codex", "npm install -g @openai/codex"),
    Cli("opencode", "npm install -g opencode-ai"),
    Cli("kimi", "npm install -g @moonshot-ai/kimi-code"),
)


def cli_checks() -> list[Check]:
    """One check per harness."""
    return [
        Check(Area.AGENTS, cli.name, lambda machine, cli=cli: _look_cli(machine, cli), Need.OPTIONAL)  # type: ignore[misc]
        for cli in CLIS
    ]


def _look_cli(machine: Machine, cli: Cli) -> Iterator[Finding]:
    program = machine.which(cli.name)
    cost = "local sandboxes, which offer this machine's programs, do not have it (docker's do)"
    if program is None:
        yield Finding(Area.AGENTS, cli.name, State.MISSING, "not installed", cost, "", (cli.install,), Need.OPTIONAL)
        return
    answer = ask([program, "--version"], machine.env)
    if answer is None or answer.code:
        said = answer.first_line if answer else "it does not start"
        yield Finding(
            Area.AGENTS, cli.name, State.MISSING, f"{program}: {said}", cost, "", (cli.install,), Need.OPTIONAL
        )
        return
    fact = f"{version_in(answer.text) or answer.first_line[:40]} ({program})"
    yield Finding(Area.AGENTS, cli.name, State.OK, fact, need=Need.OPTIONAL)


_DOCKER_COST = "studies with `environment: docker` cannot run"


def look_docker(machine: Machine) -> Iterator[Finding]:
    """Docker as Harbor's docker environment needs it: a client, a daemon that answers, the compose plugin."""
    program = machine.which("docker")
    if program is None:
        install = distribution(machine).install("docker.io", "docker-compose-v2")
        yield Finding(Area.AGENTS, "docker", State.MISSING, "not installed", _DOCKER_COST, "", install, Need.OPTIONAL)
        return
    answer = ask([program, "version", "--format", "{{.Server.Version}}"], machine.env)
    said = " ".join(answer.text.split()) if answer else "it does not start"
    if answer is None or answer.code:
        remedy, commands = _start_docker(machine, said)
        fact = f"a client, but no daemon that answers: {said[:160]}"
        yield Finding(Area.AGENTS, "docker", State.MISSING, fact, _DOCKER_COST, remedy, commands, Need.OPTIONAL)
        return
    compose = ask([program, "compose", "version", "--short"], machine.env)
    if compose is None or compose.code:
        install = distribution(machine).install("docker-compose-v2")
        fact = f"{answer.first_line}, without the compose plugin"
        yield Finding(Area.AGENTS, "docker", State.MISSING, fact, _DOCKER_COST, "", install, Need.OPTIONAL)
        return
    fact = f"{answer.first_line}, compose {compose.first_line}"
    yield Finding(Area.AGENTS, "docker", State.OK, fact, need=Need.OPTIONAL)


def _start_docker(machine: Machine, said: str) -> tuple[str, tuple[str, ...]]:
    if "permission denied" in said:
        return "let this user use it, then log in again:", (machine.as_root(f"usermod -aG docker {machine.user}"),)
    if machine.exists("/run/systemd/system"):
        return "", (machine.as_root("systemctl enable --now docker"),)
    return "start the daemon, or name one that runs elsewhere in DOCKER_HOST:", (machine.as_root("dockerd &"),)


def look_podman(machine: Machine) -> Iterator[Finding]:
    """Podman is named only where it is there: Harbor drives it through docker's command."""
    if program := machine.which("podman"):
        answer = ask([program, "--version"], machine.env)
        fact = version_in(answer.text) if answer and answer.code == 0 else None
        state, cost = (State.OK, "") if fact else (State.WEAK, "environments that it would drive do not start")
        yield Finding(Area.AGENTS, "podman", state, fact or "does not run", cost, need=Need.OPTIONAL)


def look_gpus(machine: Machine) -> Iterator[Finding]:
    """Graphics processors, by the driver's own tool."""
    cost = "tasks that ask for a GPU cannot run here"
    devices = [n for n in machine.names("/dev") if re.fullmatch(r"nvidia\d+", n)] + (
        ["kfd"] if machine.exists("/dev/kfd") else []
    )
    program = machine.which("nvidia-smi")
    if program is None:
        fact = f"/dev/{devices[0]}, but no nvidia-smi" if devices else "none"
        remedy = "install the driver's tools" if devices else ""
        yield Finding(
            Area.TOOLS, "GPU", State.WEAK if devices else State.MISSING, fact, cost, remedy, (), Need.OPTIONAL
        )
        return
    query = [program, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    answer = ask(query, machine.env)
    if answer is None or answer.code or not answer.first_line:
        said = answer.first_line if answer else "it does not start"
        remedy = "load the driver that fits this kernel; in a container, start it with `--gpus all`"
        yield Finding(Area.TOOLS, "GPU", State.MISSING, f"nvidia-smi: {said}", cost, remedy, (), Need.OPTIONAL)
        return
    cards = [line.strip() for line in answer.text.splitlines() if line.strip()]
    yield Finding(
        Area.TOOLS,
        "GPU",
        State.WEAK,
        f"{len(cards)} x {cards[0]}",
        cost="local sandboxes show no devices: only other environments (docker, modal, ...) can use it",
        need=Need.OPTIONAL,
    )


def look_browser(machine: Machine) -> Iterator[Finding]:
    """Chromium and its driver, for loopscope's own tests and the pictures of its documentation."""
    browser = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := machine.which(n))), None)
    driver = machine.which("chromedriver")
    if browser and driver:
        answer = ask([driver, "--version"], machine.env)
        version = version_in(answer.text.split(" (")[0]) if answer else None
        fact = f"{browser}, chromedriver {version or 'that does not answer'}"
        state, cost = (State.OK, "") if version else (State.WEAK, "tests in a browser may fail")
        yield Finding(Area.TESTS, "browser", state, fact, cost, need=Need.OPTIONAL)
        return
    system = distribution(machine)
    snap = (machine.as_root("snap install chromium"),) if system.ident == "ubuntu" else ()
    lacks = " and no ".join(name for name, there in (("chromium", browser), ("chromedriver", driver)) if not there)
    yield Finding(
        Area.TESTS,
        "browser",
        State.MISSING,
        f"no {lacks}",
        cost="tests in a browser are left out; reports open in any browser all the same",
        commands=snap or system.install("chromium", "chromium-driver"),
        need=Need.OPTIONAL,
    )


def python_says(machine: Machine, code: str, timeout: float = DECIDING_SEC - 0.5) -> tuple[int, str]:
    """Exit code and last line of a piece of Python in a process of its own, under this interpreter."""
    answer = ask([sys.executable, "-c", code], machine.env, timeout)
    if answer is None:
        return 127, f"{sys.executable} does not start"
    lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
    return answer.code, lines[-1] if lines else ""
