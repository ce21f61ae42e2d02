"""Command strings to simple commands, in the order in which the shell meets them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscope.evidence.shell.git import git_call
from loopscope.evidence.shell.parse import parse


def lines(text: str) -> list[str]:
    return [" ".join(word.text for word in command.words) for command in parse(text).commands if command.words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("make && ./a --benchmark 2>&1 | tail -3", ["make", "./a --benchmark", "tail -3"]),
        ('bash -lc "cd app; make"', ["cd app", "make"]),
        ("bash -o pipefail -c 'make | tail'", ["make", "tail"]),
        ("timeout -k 5 60 sh -c 'git commit -m \"a b\"'", ["git commit -m a b"]),
        ("timeout -s KILL 1h nice -n 5 nohup ./run &", ["./run"]),
        ("env -u X A=1 sudo -E B=2 ./run", ["./run"]),
        ("/usr/bin/time -v taskset -c 0 ./run 3", ["./run 3"]),
        ("time ./run", ["./run"]),
        ('eval "git add -A && git commit -q -m x"', ["git add -A", "git commit -q -m x"]),
        ("find . -name '*.c' | xargs -n 1 gcc -c", ["find . -name *.c", "gcc -c"]),
        ("nsys profile --stats=true -o /tmp/p ./run --benchmark", ["./run --benchmark"]),
        ("bash <<'EOF'\ncd x\nmake\nEOF", ["cd x", "make"]),
        ("command -v nvcc", ["command -v nvcc"]),
        ("H=$(git rev-parse HEAD) && echo $H", ["git rev-parse HEAD", "echo $(git rev-parse HEAD)"]),
        ("for i in 1 2; do ./a $i; done", ["./a 1", "./a 2"]),
        ("for i in $(seq 2 2 6); do ./a $i; done", ["./a 2", "./a 4", "./a 6"]),
        ("for ((i=0; i<2; i++)); do ./a $i; done", ["./a 0", "./a 1"]),
        ("for x in {1..2}; do for y in a b; do ./a $x $y; done; done", ["./a 1 a", "./a 1 b", "./a 2 a", "./a 2 b"]),
        ("L='p q'; for x in $L r; do ./a $x; done", ["./a p", "./a q", "./a r"]),
        ("for f in *.c; do ./a $f; done", ["./a $f"]),
        ("for i in 1 2; do ./a || break; done", ["./a", "break"]),
        ("for i in $(seq 1 1000); do ./a $i; done", ["seq 1 1000", "./a $i"]),
        ("if make; then ./a; else ./b; fi", ["make", "./a", "./b"]),
        ("case $x in a) ./a;; esac", ["./a"]),
        ("f() { ./a; }; f", ["./a", "f"]),
        ("X=3; Y=app/$X; cat ${Y} $Z", ["cat app/3 $Z"]),
        ("! ./a && ./b", ["./a", "./b"]),
        ("cat > f <<'EOF' && git add f\nhi\nEOF\necho done", ["cat", "git add f", "echo done"]),
        ("cat <<EOF | python3 -\nx\nEOF", ["cat", "python3 -"]),
        ("diff <(./a) <(./b)", ["./a", "./b", "diff <(./a) <(./b)"]),
        (r"echo a\ b $'x\ty' \"q\"", ['echo a b x\ty "q"']),
    ],
)
def test_commands_in_order(text: str, expected: list[str]) -> None:
    assert lines(text) == expected


def test_the_message_is_what_the_shell_makes_of_it() -> None:
    message = parse('git commit -m "time $38 for \\$5 and `x`"').commands[-1].words[-1]
    assert message.text == "time 8 for $5 and `x`"
    assert not message.literal


def test_a_heredoc_that_cat_prints_is_the_value_of_its_substitution() -> None:
    commands = parse("git commit -m \"$(cat <<'EOF'\nsubject $1\n\nbody\nEOF\n)\"").commands
    assert commands[-1].words[-1].text == "subject $1\n\nbody"
    assert commands[-1].words[-1].literal
    assert commands[0].substitution


def test_heredocs_are_expanded_unless_quoted() -> None:
    quoted, plain = (parse(f"X=1\ncat > f <<{mark}\na $X \\$Y $Z\nEOF").commands[-1] for mark in ("'EOF'", "EOF"))
    assert quoted.stdin_text == "a $X \\$Y $Z\n"
    assert plain.stdin_text == "a 1 $Y $Z\n"
    assert not plain.redirects[-1].target.literal


def test_what_is_blank_at_the_ends_of_texts_is_kept() -> None:
    for mark in ("E", "'E'"):  # read by the parser, and without it
        assert parse(f"cat >> f << {mark}\n\n  \n\tx\n\nE\nls").commands[0].stdin_text == "\n  \n\tx\n\n"
    for word in ('" \n\n x\n"', '" \n\n x\n"; (true)'):
        assert parse(f"python3 -c {word}").commands[0].arguments == ("-c", " \n\n x\n")


def test_directories() -> None:
    commands = parse("cd /w/app && make; (cd sub; a); b | (cd x && c); cd -; d; cd $X; e", "/w").commands
    assert {command.program: command.cwd for command in commands if command.program != "cd"} == {
        "make": "/w/app", "a": "/w/app/sub", "b": "/w/app", "c": "/w/app/x", "d": "/w", "e": None,
    }  # fmt: skip
    assert parse("cd /w/app && make 2>&1 | tail").cwd == "/w/app"
    assert parse("cd sub && long & next", "/w").commands[-1].cwd == "/w"


def test_git_and_its_directory() -> None:
    call = git_call(parse('git --no-pager -c a.b=c -C "sub dir" commit -m x', "/w").commands[0])
    assert call is not None
    assert (call.verb, call.arguments, call.directory) == ("commit", ("-m", "x"), "/w/sub dir")


def test_surroundings() -> None:
    a, b, c = parse("a | b 2>&1 | c > out").commands
    assert [item.pipe and (item.pipe.position, item.pipe.last) for item in (a, b, c)] == [
        (0, False),
        (1, False),
        (2, True),
    ]
    assert [redirect.target.text for redirect in c.redirects if redirect.writes] == ["out"]
    assert not any(redirect.writes for redirect in b.redirects)
    first, second, third = parse("x && y || z &").commands
    assert [first.joined, second.joined, third.joined] == ["", "&&", "||"]
    assert first.background
    assert third.background
    assert parse("while true; do x; done").commands[-1].loop
    assert parse("f() { x; }").commands[0].function == "f"
    # tree-sitter hangs the list under the pipe; to the shell only `y` is piped.
    x, y, _ = parse("x && y 2>&1 | tail").commands
    assert x.pipe is None
    assert not x.redirects
    assert y.pipe is not None


@pytest.mark.parametrize(
    ("text", "pipes"),
    [
        # (pipeline, position, whether it is the last) of each command; tree-sitter hangs the lists under the pipe.
        ("a | b | c && d", [(1, 0, False), (1, 1, False), (1, 2, True), None]),
        ("a | b | c && d > f || e", [(1, 0, False), (1, 1, False), (1, 2, True), None, None]),
        ("a | b | c && d | e; f", [(1, 0, False), (1, 1, False), (1, 2, True), (2, 0, False), (2, 1, True), None]),
        ("a | b | c <<X && d\n1\nX", [(1, 0, False), (1, 1, False), (1, 2, True), None]),
        ("a | b | $V && d", [(1, 0, False), (1, 1, False), (1, 2, True), None]),
        ("a | b | (c && d) && e", [(1, 0, False), (1, 1, False), (1, 2, True), (1, 2, True), None]),
    ],
)
def test_what_follows_a_pipeline_is_no_part_of_it(text: str, pipes: list[tuple[int, int, bool] | None]) -> None:
    found = [item.pipe for item in parse(text).commands]
    assert [pipe and (pipe.number, pipe.position, pipe.last) for pipe in found] == pipes


def test_a_directory_is_changed_behind_a_pipeline_and_not_within() -> None:
    assert [item.cwd for item in parse("a | b | cd $V && cd y && p").commands] == [".", ".", ".", ".", "y"]


def test_what_is_broken_is_read_as_far_as_it_goes() -> None:
    script = parse("make && git commit -m 'unclosed\nls")
    assert script.broken
    assert script.commands[0].program == "make"
    assert parse("bash -c " * 3000 + "x").commands == parse("bash -c " * 3000 + "x").commands
    assert len(parse("(" * 3000 + "x" + ")" * 3000).commands) <= 1


@pytest.mark.parametrize("text", ["echo {\U0010ffff", "{0\U000f0000}", "echo {1..\U0010ffff}", "a {\u3042,b}"])
def test_far_characters_behind_a_brace_do_not_crash_the_parser(text: str) -> None:
    assert text in " ".join(command.text for command in parse("true; " + text).commands) or "{0" in text


@given(st.text(alphabet="ab $\"'`\\|&;<>(){}=\n-#*!0", max_size=60) | st.text(max_size=40))
def test_any_text_is_parsed(text: str) -> None:
    script = parse(text)
    assert [command.order for command in script.commands] == list(range(len(script.commands)))


@given(
    st.lists(
        st.text(min_size=1, max_size=12).filter(lambda text: "\0" not in text and text.isprintable()),
        min_size=1,
        max_size=5,
    )
)
def test_single_quotes_keep_everything(words: list[str]) -> None:
    quoted = ["'" + word.replace("'", "'\\''") + "'" for word in words]
    command = parse("prog " + " ".join(quoted)).commands[0]
    assert [word.text for word in command.words[1:]] == words


def test_a_lone_dash_in_front_of_a_heredoc_is_an_argument() -> None:
    command = parse("git commit -F - <<'EOF'\nx\nEOF").commands[0]
    assert command.arguments == ("commit", "-F", "-")
    assert command.stdin_text == "x\n"


def test_commands_of_a_loop_know_where_it_begins() -> None:
    made = parse("make && for i in 1 2; do for k in 1 2; do a; b; done; c; done; d").commands
    assert [item.program for item in made] == ["make", *"ababcababc", "d"]
    assert [item.loop_begin for item in made] == [None, None, 1, 1, 1, 1, 1, 6, 6, 6, 1, None]
    inner = parse("true; bash -c 'for i in 1 2; do a; done'").commands
    assert [item.loop_begin for item in inner] == [None, None, 1]
