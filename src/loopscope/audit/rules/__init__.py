"""Rules: what is read from a task's files."""

from __future__ import annotations

from loopscope.audit.rule import Rule
from loopscope.audit.rules.compared import compared, own_memory
from loopscope.audit.rules.consistent import anchors, environment, seen, shown
from loopscope.audit.rules.drivers import driver_seeds, overwritten, repeated_calls
from loopscope.audit.rules.hidden import hidden
from loopscope.audit.rules.inputs import reused, secret_seed
from loopscope.audit.rules.pinned import pinned, planted
from loopscope.audit.rules.process import clock, own_process, pickles, unfenced_builds
from loopscope.audit.rules.scripted import (
    benchmark_output,
    clean_build,
    constant_seeds,
    image_secrets,
    own_word,
    pinned_files,
    same_input,
    unfenced,
)
from loopscope.audit.rules.vendored import vendored

RULES: tuple[Rule, ...] = (
    Rule("output-compared", 1, "what a measured program says is compared, wholly and always", compared),
    Rule("fresh-inputs", 2, "each measurement has an input of its own", reused),
    Rule("repeated-calls", 2, "a driver calls the solution once for each input", repeated_calls),
    Rule("own-process", 3, "the solution's code runs apart from the process that scores", own_process),
    Rule("clock", 3, "the clock is out of the solution's reach", clock),
    Rule("pinned-driver", 4, "only the editable files come from the solution", pinned),
    Rule("planted", 5, "nothing that lies in the work dir is used as it is", planted),
    Rule("own-memory", 6, "answers come from data that the solution cannot write", own_memory),
    Rule("driver-memory", 6, "a driver's check goes by memory that the solution cannot write", overwritten),
    Rule("secret-seed", 7, "inputs are drawn from a fresh secret seed", secret_seed),
    Rule("driver-seed", 7, "drivers draw nothing from constants", driver_seeds),
    Rule("hidden-data", 8, "seed, answers and the verifier's files are hidden", hidden),
    Rule("unfenced-build", 8, "a solution is built behind a fence, from nothing", unfenced_builds),
    Rule("guard", 8, "a vendored guard is loopscope's own", vendored),
    Rule("benchmark-output", 1, "what a measured run prints is compared with an answer", benchmark_output),
    Rule("same-input", 2, "each repetition has an input of its own", same_input),
    Rule("own-word", 3, "the reward is not read from what the solution's process prints", own_word),
    Rule("pinned-files", 4, "files that no solution may change are the verifier's own", pinned_files),
    Rule("clean-build", 5, "builds start from nothing", clean_build),
    Rule("constant-seed", 7, "no seed is written in the script", constant_seeds),
    Rule("unfenced", 8, "the solution's code cannot see /tests or write the reward", unfenced),
    Rule("image-secrets", 8, "the image holds nothing of the verifier's", image_secrets),
    Rule("anchors", None, "anchors agree wherever they stand", anchors),
    Rule("shown", None, "what the agent is shown is what the verifier does", shown),
    Rule("parts", None, "image, solution and test script are there and stay", environment),
    Rule("seen", 8, "the verifier can be read, and is seen to run solutions", seen),
    Rule("pickles", 9, "the verifier loads no pickles", pickles),
)
"""All of them."""
