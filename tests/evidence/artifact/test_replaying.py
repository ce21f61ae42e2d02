"""Programs that rewrite files are replayed: what they leave is what Python would leave, or nothing is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from loopscope.evidence.artifact.budget import Budget
from loopscope.evidence.artifact.replaying import replay

TEXT = "fn a() {}\nlet n = 1;\nfn a() {}\n"

PROGRAMS = [
    "s = open('f.rs').read()\ns = s.replace('n = 1', 'n = 2')\nopen('f.rs', 'w').write(s)\n",
    "s = open('f.rs').read()\ns = s.replace('absent', 'x')\nopen('f.rs', 'w').write(s)\n",
    "with open('f.rs', encoding='utf-8') as f:\n    s = f.read()\nwith open('f.rs', 'w') as f:\n    f.write(s.replace('fn a', 'fn b', 1))\n    f.write('// end\\n')\n",
    "from pathlib import Path\np = Path('f.rs')\ns = p.read_text()\nassert 'n = 1' in s, 'no'\np.write_text(s + '// x\\n')\n",
    "import sys\ns = open('f.rs').read()\nif 'zzz' not in s:\n    print('not found', len(s))\n    sys.exit(1)\nopen('f.rs', 'w').write('')\n",
    "s = open('f.rs').read()\nfor old, new in [('fn a', 'fn c'), ('1', '3')]:\n    assert s.count(old) > 0\n    s = s.replace(old, new)\nopen('f.rs', 'w').write(s)\n",
    "s = open('f.rs').read()\ni = s.index('let')\nj = s.find(';', i) + 1\nopen('f.rs', 'w').write(s[:i] + f'let m = {i - 1};' + s[j:])\n",
    "s = open('f.rs').read()\nassert 'zzz' in s\nopen('f.rs', 'w').write('gone')\n",
    "open('f.rs', 'a').write('more\\n')\nopen('new.rs', 'w').write('\\n'.join(['a', 'b']).strip())\n",
    "s = open('f.rs').read()\ns += '' if s.startswith('fn') and not s.endswith('x') else 'y'\nopen('f.rs', 'w').write(s.rstrip())\n",
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_as_python_itself(program: str, tmp_path: Path) -> None:
    (tmp_path / "f.rs").write_text(TEXT)
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False, capture_output=True)
    real = {path.name: path.read_text() for path in tmp_path.iterdir()}
    made = replay(program, {"f.rs": TEXT}.get, Budget())
    assert made is not None
    assert {"f.rs": TEXT, **made} == real


@pytest.mark.parametrize(
    "program",
    [
        "import re\ns = re.sub('a+', 'b', open('f.rs').read())\nopen('f.rs', 'w').write(s)",
        "s = open('unknown.rs').read()\nopen('f.rs', 'w').write(s)",
        "import os\nos.system('rm f.rs')",
        "print(open('f.rs', 'w').write('x'))",
        "def f():\n    pass\nf()",
        "open('f.rs', 'r+').write('x')",
        "while True:\n    pass",
        "s = 'x'\nfor i in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]:\n    s = s.replace('x', 'xxxxxxxxxx')\n",
        "open('f.rs', 'w').write('x'.join([open('f.rs').read()] * 3))",
        "x = (",
        "(" * 5000,
        "\0",
    ],
)
def test_what_is_not_carried_out_gives_up(program: str) -> None:
    assert replay(program, {"f.rs": TEXT}.get, Budget()) is None


HOSTILE = [
    f"x = 0x{'f' * 100_000}\nopen('f.rs', 'w').write(f'{{x}}')\n",
    f"open('f.rs', 'w').write(''.replace('', 'x', -{'9' * 40}))\n",
    f"open('f.rs', 'w').write(''.replace('', 'x', {'9' * 40}))\n",
    "a0 = ['x']\nb0 = ['x']\n"
    + "".join(f"a{n} = [a{n - 1}, a{n - 1}]\nb{n} = [b{n - 1}, b{n - 1}]\n" for n in range(1, 40))
    + "if a39 == b39:\n    open('f.rs', 'w').write('')\n",
    "s = 'x'\n" + "s = s + s\n" * 21 + f"open('f.rs', 'w').write(','.join([{'s, ' * 2000}]))\n",
    "s = 'x'\n" + "s = s + s\n" * 21 + f"open('f.rs', 'w').write(f'{'{s}' * 900}')\n",
    "s = 'x'\n" + "s = s + s\n" * 21 + "t = 'y' + s.replace('x', 'x', 1000000)[:1000000]\nn = s.rfind(t)\n",
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_what_has_no_bound_is_given_up(number: int) -> None:
    assert replay(HOSTILE[number], {"f.rs": TEXT}.get, Budget()) is None


def test_what_programs_cost_sums_over_a_run() -> None:
    budget = Budget(cost=200_000)
    program = "s = open('f.rs').read()\nopen('f.rs', 'w').write(s)\n"
    found = [replay(program, {"f.rs": TEXT}.get, budget) for _ in range(5)]
    assert found[0] == {"f.rs": TEXT}
    assert found[-1] is None
