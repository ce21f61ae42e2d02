"""Short command strings that are made to cost much are read as far as their allowance goes, and the others in full."""

from __future__ import annotations

import pytest

from loopscope.evidence.shell.limits import MAX_COMMANDS, MAX_EXPANDED, MAX_MARKS, Allowance
from loopscope.evidence.shell.parse import parse
from loopscope.evidence.shell.scripts import expand


def test_variables_that_double_stop_being_known() -> None:
    doubling = [f'A{number + 1}="$A{number}$A{number}"; git commit -m "$A{number}"' for number in range(60)]
    commands = parse("\n".join(["A0=aaaaaaaaaa", *doubling])).commands
    assert len(commands) == 121
    assert commands[8].arguments == ("commit", "-m", "a" * 80)
    assert not commands[-1].words[-1].literal
    assert all(len(word.text) <= MAX_EXPANDED for command in commands for _, word in command.assignments)


def test_what_is_expanded_often_is_known_as_long_as_there_is_room() -> None:
    script = parse(f"A={'x' * 1000}\n" + "echo $A $A $A $A\n" * 1000)
    known = [word for command in script.commands[1:] for word in command.words[1:] if word.literal]
    assert len(known) == MAX_EXPANDED // 1000


@pytest.mark.parametrize("unit", ["a | ", "cat <<A ", "a=( ", "x() ", "a) ", "[[ a == b ]] "])
def test_what_the_parser_could_not_bear_is_not_given_to_it(unit: str) -> None:
    script = parse(unit * 40_000)
    assert script.commands == () and script.broken and script.cwd is None


def test_signs_that_mean_nothing_to_the_shell_do_not_count() -> None:
    body = "print((1 | 2) == 3)  # it's\n" * MAX_MARKS
    tail = "git commit -m 'a | b' # don't (|\nmake | tail"
    for text in (f"cat > x.py <<'E'\n{body}E\n{tail}", f"cat > x.py <<E\n{body}E\n{tail}"):
        commands = parse(text).commands
        assert [command.program for command in commands] == ["cat", "git", "make", "tail"]
        assert commands[0].stdin_text == body
        assert commands[1].arguments[-1] == "a | b"
    (command,) = parse(f'python3 -c "{body}"').commands
    assert command.arguments[-1] == body


def test_covering_leaves_every_byte_in_its_place() -> None:
    text = "echo 'ü(|<' \"é(\" \"$(a | b)\" <<E <<'F' # (ö\n(ä\nE\n$(x) |\nF\na | b"
    covered = Allowance(marks=8).parsable(text)
    assert covered == "echo 'ü___' \"é_\" \"$(a | b)\" <<E <<'F' # _ö\n_ä\nE\n$_x_ _\nF\na | b"


def test_what_looks_quoted_and_is_not_is_harmless() -> None:
    assert len(parse("echo $((1<<E))\n" + "a | " * 40_000 + "b\nE\n").commands) < MAX_COMMANDS
    assert parse("echo 'it\n" + "a | " * 40_000 + "b").commands == ()


def test_loops_in_shells_in_loops_are_read_round_by_round_only_as_far_as_others() -> None:
    script = "make"
    for number in range(6):
        script = f"for i in {{1..20}}; do bash <<'E{number}'\n{script}\nE{number}\ndone"
    commands = parse(script).commands
    assert [command.program for command in commands] == ["make"] * 20
    assert all(command.loop for command in commands)


@pytest.mark.parametrize("script", ["make;" * 30_000, "eval 'make; make'\n" * 30_000, "for i in {1..20}; do " + "make;" * 1000 + " done"])  # fmt: skip
def test_more_commands_than_anybody_writes_are_not_read(script: str) -> None:
    found = parse(script)
    assert found.broken and MAX_COMMANDS / 2 <= len(found.commands) <= MAX_COMMANDS


def test_a_group_has_so_many_redirections_only() -> None:
    found = parse("{ " + "a; " * 1900 + "} " + ">x " * 30_000)
    assert found.broken and sum(len(command.redirects) for command in found.commands) <= 100_000
    found = parse("{ " + "a; " * 1900 + "} >x" + " y" * 30_000)
    assert found.broken and sum(len(command.words) for command in found.commands) <= 102_000


def test_scripts_that_start_scripts_come_to_an_end() -> None:
    texts = {"a": "./b\n" * 1000, "b": "./c\n" * 1000, "c": "# nothing\n"}
    commands = expand(parse("./a\n" * 1000), texts).commands
    assert {command.program for command in commands} == {"a", "b", "c"}
    assert len(commands) < 3 * MAX_COMMANDS


def test_so_many_wrappers_are_taken_off() -> None:
    (command,) = parse("sudo " * 100_000 + "make").commands
    assert command.program == "sudo" and len(command.wrappers) == 50
