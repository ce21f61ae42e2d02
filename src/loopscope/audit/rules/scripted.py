"""Verifiers that are shell scripts: a solution is built and run in its work dir, and its word is taken."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from loopscope.audit.finding import Finding, NotApplicable, Severity
from loopscope.audit.reading.scripted import Started, builds, started
from loopscope.audit.reading.verifier import Verifier, verifier_of
from loopscope.audit.rules.common import found
from loopscope.audit.sources import TaskSources

_SOURCE = (
    ".c",
    ".cc",
    ".cpp",
    ".cu",
    ".h",
    ".hpp",
    ".py",
    ".go",
    ".rs",
    ".js",
    ".java",
    ".toml",
    ".mod",
    ".sh",
    ".lock",
    ".mk",
)
_PINS = re.compile(r"\b(sha\d+sum|md5sum|b2sum|cmp|diff|cp|install|rsync|git)\b")
_EXTRACT = re.compile(
    r"\b(time|times|ms|us|ns|sec(?:onds)?|score|cycles|speedup|metric|throughput|latency|accuracy|reward|ops|cost|result|bench\w*)\w*=",
    re.IGNORECASE,
)
_APART = (
    "run the solution behind a fence (another user, namespaces), from a program that measures and compares by itself"
)


def _runs(sources: TaskSources) -> tuple[Verifier, list[Started]]:
    verifier = verifier_of(sources)
    runs = list(started(verifier))
    if not runs:
        raise NotApplicable("tests/test.sh itself runs nothing out of the work dir")
    return verifier, runs


def own_word(sources: TaskSources) -> Iterator[Finding]:
    """Kind 3: the reward is read from what the solution's own process prints."""
    verifier, runs = _runs(sources)
    script = sources.text("tests/test.sh")
    for run in runs:
        names = [re.escape(name.lstrip("$")) for name in run.into if name not in ("/dev/null", "$")]
        read = any(
            re.search(rf"(?:\$\{{?|/)?{name}\b", c.text) and _EXTRACT.search(c.text)
            for name in names
            for c in verifier.commands
            if c.line >= run.command.line
        ) or any(re.search(rf"\${{?{name}\b[^\n]*\|[^\n]*{_EXTRACT.pattern}", script, re.IGNORECASE) for name in names)
        if names and read and not run.fenced:
            text = f"`{run.command.text}` prints what the reward is made of, in the process of the solution's code"
            yield found(sources, "own-word", 3, Severity.HIGH, f"tests/test.sh:{run.command.line}", text, _APART)


def unfenced(sources: TaskSources) -> Iterator[Finding]:
    """Kind 8: the solution's code can see /tests and write the reward."""
    _, runs = _runs(sources)
    loose = [run for run in runs if not run.fenced]
    if loose:
        first, more = loose[0], len(loose) - 1
        others = f" and {more} more" if more else ""
        text = f"`{first.command.text}`{others} runs as the verifier's user: it can read /tests and write the reward"
        yield found(sources, "unfenced", 8, Severity.HIGH, f"tests/test.sh:{first.command.line}", text, _APART)


def benchmark_output(sources: TaskSources) -> Iterator[Finding]:
    """Kind 1: of a measured run only the time is read."""
    verifier, runs = _runs(sources)
    for run in runs:
        if (
            not re.search(r"bench|perf|timed|speed|-runs|--measure|throughput", run.command.text, re.IGNORECASE)
            and len(runs) > 1
        ):
            continue
        names = [name.lstrip("$") for name in run.into if name != "$"]
        if not names or names == ["/dev/null"]:
            continue
        derived = _derived(sources.text("tests/test.sh"), names)
        if not any(_held(verifier, sources, name) for name in derived):
            text = f"the output of `{run.command.text}` is only searched for numbers, never compared with an answer"
            remedy = (
                "compare what the measured run computed, at the measured size, with an answer of the verifier's own"
            )
            yield found(
                sources, "benchmark-output", 1, Severity.HIGH, f"tests/test.sh:{run.command.line}", text, remedy
            )


def _derived(script: str, names: list[str]) -> set[str]:
    """These variables and files, and variables that are taken out of them."""
    found_names = set(names)
    for match in re.finditer(r"^\s*(?:local\s+)?(\w+)=\$\((.*)\)", script, re.MULTILINE):
        if any(re.search(rf"\$\{{?{re.escape(n)}\b|{re.escape(n)}", match[2]) for n in names):
            found_names.add(match[1])
    return found_names


def _held(verifier: Verifier, sources: TaskSources, name: str) -> bool:
    """Whether what has this name is compared with data: a file or a value from elsewhere, not a word like `ok`."""
    for command in verifier.commands:
        if command.name in ("diff", "cmp", "sha256sum", "md5sum") and name in command.text:
            return True
    pattern = rf"\$\{{?{re.escape(name)}\}}?\"?\s*(?:!=|==|=|-ne|-eq)\s*\"?\$\{{?\w+"
    return bool(re.search(pattern, sources.text("tests/test.sh")))


def same_input(sources: TaskSources) -> Iterator[Finding]:
    """Kind 2: each repetition runs on the same input."""
    _, runs = _runs(sources)
    for run in runs:
        loop = next((a for a in run.command.around if a.startswith("for_statement")), "")
        match = re.match(r"for_statement for (\w+) in ([^;]*)", loop)
        if match and not re.search(rf"\${{?{match[1]}\b", run.command.text):
            text = f"`{run.command.text}` is repeated without a new input: what one leaves in files another can use"
            remedy = "give each repetition an input of its own, and a place that nothing is left in"
            yield found(sources, "same-input", 2, Severity.MEDIUM, f"tests/test.sh:{run.command.line}", text, remedy)


def pinned_files(sources: TaskSources) -> Iterator[Finding]:
    """Kind 4: files of the work dir that no solution may change are the verifier's own, or held against its own."""
    verifier = verifier_of(sources)
    if not any(True for _ in started(verifier)) and not any(not run.fenced for run in verifier.story.runs):
        raise NotApplicable("nothing runs out of the work dir without a fence")
    tests = "\n".join(sources.text(f) for f in sources.below("tests"))
    remedy = (
        "copy them from tests/ over the work dir, or compare them with copies in tests/, right before they are used"
    )
    free = []
    for name, file in sources.starter.items():
        base = posixpath.basename(name)
        is_source = PurePosixPath(name).suffix in _SOURCE or base in ("Makefile", "CMakeLists.txt", "Dockerfile")
        if name in sources.editable or not is_source or re.match(r"(README|evaluate|bench)\b", base):
            continue
        held = [c for c in verifier.commands if _PINS.search(c.text) and base in c.text]
        hashed = re.search(rf"{re.escape(base)}[\"']?\s*[:,=]\s*[\"'][0-9a-f]{{32,}}", tests) or re.search(
            rf"[0-9a-f]{{64}}\s+\S*{re.escape(base)}", tests
        )
        whole = any(
            _PINS.search(c.text) and re.search(r"originals|-r\b|\$rel\b|protected", c.text) for c in verifier.commands
        )
        if not (held or hashed or whole):
            free.append(file)
    if free and sources.editable:
        text = (
            f"{', '.join(posixpath.basename(f) for f in free[:6])}: used from the work dir, where they can be replaced"
        )
        yield found(sources, "pinned-files", 4, Severity.HIGH, free[0], text, remedy)
    yield from _pinned_in_image(sources, verifier, remedy)


def _pinned_in_image(sources: TaskSources, verifier: Verifier, remedy: str) -> Iterator[Finding]:
    """What files are compared with lies where a solution's author is root."""
    for command in verifier.commands:
        match = re.search(r"(/orig|/opt|/root|/etc|/usr/local|/var/lib)/[\w./-]+", command.text)
        if match and re.search(r"\b(cat|sha\d+sum|cmp|diff|cp)\b", command.text):
            text = f"`{command.text}` goes by {match[0]}, which the agent can change as root before"
            yield found(sources, "pinned-files", 4, Severity.MEDIUM, f"tests/test.sh:{command.line}", text, remedy)
            return


def clean_build(sources: TaskSources) -> Iterator[Finding]:
    """Kind 5: what was built before is not used again."""
    verifier = verifier_of(sources)
    cleaned = re.compile(r"\bclean\b|rm\s+-\w*[rf]|\s-B\b|--always-make|git\s+clean|mktemp")
    script = sources.text("tests/test.sh")
    for command, words in builds(verifier):
        name = words[0].rsplit("/", 1)[-1]
        if name == "cmake" and "--build" not in words:
            continue
        if name not in ("make", "cargo", "ninja", "cmake") or (
            name == "cargo" and not {"build", "run", "test", "bench"} & set(words)
        ):
            continue
        before = "\n".join(script.splitlines()[: command.line])
        if "clean" in words or cleaned.search(before):
            continue
        text = f"`{command.text}` takes what it finds built for up to date: a planted program with a late date stays"
        remedy = "clean first, or build from the sources in an empty directory"
        yield found(sources, "clean-build", 5, Severity.HIGH, f"tests/test.sh:{command.line}", text, remedy)


def constant_seeds(sources: TaskSources) -> Iterator[Finding]:
    """Kind 7: seeds that are written in the script."""
    verifier = verifier_of(sources)
    remedy = "draw the seed at each verification: `$(od -An -N8 -tu8 /dev/urandom)`, and give each run another"
    for command in verifier.commands:
        match = re.search(r"--?seed[= ]\"?(\d+)\"?|\bSEED=\"?(\d+)", command.text)
        loop = next((a for a in command.around if a.startswith("for_statement")), "")
        listed = re.match(r"for_statement for (\w*seed\w*) in ((?:\d+\s*)+)", loop, re.IGNORECASE)
        if command.name in ("echo", "printf"):
            continue
        if match or (listed and f"${listed[1]}" in command.text):
            text = f"`{command.text}`: the seed is a constant that everybody can read"
            yield found(sources, "constant-seed", 7, Severity.HIGH, f"tests/test.sh:{command.line}", text, remedy)
    for name, value in verifier.script.constants.items():
        if re.search(r"seed", name, re.IGNORECASE) and re.fullmatch(r"\d+", value):
            text = f"{name}={value}: the seed is a constant that everybody can read"
            yield found(
                sources, "constant-seed", 7, Severity.HIGH, f"tests/test.sh:{verifier.script.lines[name]}", text, remedy
            )


def image_secrets(sources: TaskSources) -> Iterator[Finding]:
    """Kind 8: inputs, answers and data of the verifier's in the image, where the agent works as root."""
    remedy = "keep inputs and answers in tests/ only, or draw and compute them at verification"
    for instruction in sources.dockerfile:
        if instruction.keyword not in ("RUN", "COPY", "ADD"):
            continue
        match = re.search(
            r"(?<![\w.])(/tests/[\w./-]+|/solution[\w./-]*|[\w./-]*(?:expected|answers?|hidden|private|ground_truth)[\w./-]*\.(?:txt|json|npy|npz|bin|csv|pt))",
            instruction.rest,
        )
        if match:
            text = f"{instruction.keyword} puts {match[0]} into the image: the agent can read and change it"
            yield found(
                sources, "image-secrets", 8, Severity.HIGH, f"environment/Dockerfile:{instruction.line}", text, remedy
            )
    secret = {sources.files[n]: n for n in sources.below("solution") if len(sources.files[n]) > 64}
    secret |= {sources.files[m.file]: m.file for m in verifier_of(sources).entries if m.file.endswith(".py")}
    for name in sources.below("environment"):
        if sources.files[name] in secret:
            text = f"the agent gets {name}, which is {secret[sources.files[name]]}"
            yield found(sources, "image-secrets", 8, Severity.HIGH, name, text, remedy)
    public = {data: name for name, data in sources.files.items() if name.startswith("environment/")}
    for name in sources.below("tests", ".npz", ".npy", ".bin", ".csv", ".dat", ".pt", ".pkl", ".txt", ".jsonl"):
        if sources.files[name] in public and len(sources.files[name]) > 64:
            text = f"{name} is the same as {public[sources.files[name]]}, which the agent gets"
            yield found(sources, "image-secrets", 8, Severity.HIGH, name, text, remedy)
