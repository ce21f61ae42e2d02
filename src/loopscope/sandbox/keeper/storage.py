"""One sandbox's writable files: a file system of their own in a private mount namespace, counted, and deleted.

Each request is a process of its own, forked by the hub, that ends with its answer. What is made lives on in the
descriptors that are sent back: a mount namespace without a process lasts as long as somebody holds it open, so the
mount (and the loop device below it, which clears itself) is gone with the last of engine and keeper, however they end.
The host's own namespace never sees it.
"""

from __future__ import annotations

import errno
import fcntl
import marshal
import os
import socket
import stat
import struct

from loopscope.sandbox.keeper.system import (
    MS_NOATIME,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    MS_SLAVE,
    mount,
    read_all,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopscope.sandbox.keeper.requests import MakeRequest, MeasureRequest, RemoveRequest

LOOP_CTL_GET_FREE, LOOP_CONFIGURE = 0x4C82, 0x4C0A
LOOP_MAJOR, EXT4_ROOT = 7, 2
LO_FLAGS_AUTOCLEAR, LO_FLAGS_DIRECT_IO = 4, 16
EXT4_IOC_SHUTDOWN, WITHOUT_FLUSH = 0x8004587D, 2
EXT4_OPTIONS = "noinit_itable,noauto_da_alloc,nobarrier,errors=remount-ro"
"""The content never outlives the machine's next stop: nothing is flushed for its sake, and no inode table is zeroed."""
DEEPEST = 400
"""Directories nested deeper than this count as over every limit: they are made to hinder whoever walks them."""


def used(root: int) -> tuple[int, int]:
    """(bytes, inodes) in use in the file system that the descriptor `root` is of."""
    found = os.fstatvfs(root)
    return (found.f_blocks - found.f_bfree) * found.f_frsize, found.f_files - found.f_ffree


def give_up(root: int) -> None:
    """Tell an ext4 that nothing of it is wanted any more, so that taking it down writes nothing back.

    Every access to it fails from then on. Never to be asked for but of an image of ours: refuses what cannot be one.
    """
    found = os.fstat(root)
    if os.major(found.st_dev) != LOOP_MAJOR or found.st_ino != EXT4_ROOT:
        raise ValueError("not the root of a file system on a loop device")
    try:
        fcntl.ioctl(root, EXT4_IOC_SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))
    except OSError:
        pass  # another file system, or one that is read-only after an error: it has little to write


def own_namespace(as_user: bool) -> None:
    """A mount namespace of our own; for an ordinary user inside a user namespace that maps the one id to itself."""
    if not as_user:
        os.unshare(os.CLONE_NEWNS)
        # What the host unmounts is to go here as well; what is mounted here stays here.
        mount("none", "/", None, MS_REC | MS_SLAVE)
        return
    uid, gid = os.geteuid(), os.getegid()
    os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as f:
            f.write(text)


def attach(image: int) -> int:
    """The descriptor of a loop device over the open file `image`; it clears itself once closed and not mounted."""
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO  # no second copy of every page in memory
    info = struct.pack("=5Q4I64s64s32s2Q", 0, 0, 0, 0, 0, 0, 0, 0, flags, b"loopscope", b"", b"", 0, 0)
    for _ in range(64):
        device = os.open(f"/dev/loop{fcntl.ioctl(control, LOOP_CTL_GET_FREE)}", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.ioctl(device, LOOP_CONFIGURE, struct.pack("=2I", image, 4096) + info + bytes(64))
            os.close(control)
            return device
        except OSError as exc:
            os.close(device)
            if exc.errno != errno.EBUSY:  # else somebody was quicker
                raise
    raise OSError(errno.EBUSY, "no free loop device")


def make(request: MakeRequest, fds: list[int]) -> tuple[bytes, list[int]]:
    """Mount a fresh file system at request["at"]; (b"", [its root, the namespaces to enter in order])."""
    own_namespace(request["as_user"])
    at, flags = request["at"], MS_NOSUID | MS_NODEV | MS_NOATIME
    if request["kind"] == "loop":
        device = attach(fds[0])
        mount(os.readlink(f"/proc/self/fd/{device}"), at, "ext4", flags, EXT4_OPTIONS)
        os.close(device)
    elif request["kind"] == "tmpfs":
        mount("files", at, "tmpfs", flags, f"size={request['bytes']},nr_inodes={request['inodes']},mode=755")
    names = ["user", "mnt"] if request["as_user"] else ["mnt"]
    root = os.open(at, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return b"", [root, *(os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in names)]


def join(namespaces: list[int]) -> None:
    """Enter what `make` made. The caller has one thread and no use for where it was."""
    for fd in namespaces:
        os.setns(fd, 0)


def shared_memory(where: str, size: int, inodes: int, owner: int | None) -> None:
    """A fresh tmpfs for /dev/shm at `where`, in a mount namespace of the caller's own; `owner`: host id of its root."""
    os.unshare(os.CLONE_NEWNS)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    whose = "" if owner is None else f",uid={owner},gid={owner}"
    mount("shm", where, "tmpfs", MS_NOSUID | MS_NODEV, f"size={size},nr_inodes={inodes},mode=1777{whose}")


def walk(top: int) -> Iterator[os.stat_result | None]:
    """The stat of everything below the directory `top`, links not followed; None where it is nested too deep."""
    stack = [os.scandir(top)]
    held = [-1]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop().close()
            if (done := held.pop()) >= 0:
                os.close(done)
            continue
        try:
            found = entry.stat(follow_symlinks=False)
            yield found
            if stat.S_ISDIR(found.st_mode):
                if len(stack) > DEEPEST:
                    yield None
                    continue
                parent = held[-1] if held[-1] >= 0 else top
                held.append(os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent))
                stack.append(os.scandir(held[-1]))
        except (FileNotFoundError, NotADirectoryError):
            continue  # it went while we looked


def measure(request: MeasureRequest, fds: list[int]) -> tuple[bytes, list[int]]:
    """Count the plain directories `at`: b"bytes inodes", hard links once; request["deep"] more where it is too deep."""
    join(fds)
    size = inodes = deep = 0
    seen: set[int] = set()
    for place in request["at"]:
        top = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        for found in walk(top):
            if found is None:
                deep = request["deep"]
                continue
            if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
                if found.st_ino in seen:
                    continue
                seen.add(found.st_ino)
            size += found.st_blocks * 512
            inodes += 1
        os.close(top)
    return b"%d %d" % (size, inodes + deep), []


def remove(request: RemoveRequest, fds: list[int]) -> tuple[bytes, list[int]]:
    """Delete all below the directories `at`, however deep: what is not empty is moved up to the top, then emptied."""
    join(fds)
    for place in request["at"]:
        top = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        os.fchmod(top, 0o700)
        count, waiting = 0, [""]
        while waiting:
            name = waiting.pop()
            here = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top) if name else os.dup(top)
            with os.scandir(here) as listed:
                for entry in list(listed):
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.name, dir_fd=here)
                        continue
                    try:
                        os.rmdir(entry.name, dir_fd=here)
                    except OSError:
                        os.chmod(entry.name, 0o700, dir_fd=here)
                        count += 1
                        fresh = f".loopscope-removed-{count}"
                        while os.path.lexists(f"/proc/self/fd/{top}/{fresh}"):
                            fresh += "-"
                        os.rename(entry.name, fresh, src_dir_fd=here, dst_dir_fd=top)
                        waiting.append(fresh)
            os.close(here)
            if name:
                os.rmdir(name, dir_fd=top)
        os.close(top)
    return b"", []


def serve(control: socket.socket) -> None:
    """Do the one thing asked for on `control`: a word, and descriptors of its arguments and of what it works on."""
    word, fds, _, _ = socket.recv_fds(control, 16, 8)
    answer: list[int] = []
    try:
        request, rest = marshal.loads(read_all(fds[0])), fds[1:]
        if word == b"make":
            said, answer = make(request, rest)
        elif word == b"measure":
            said, answer = measure(request, rest)
        elif word == b"remove":
            said, answer = remove(request, rest)
        else:
            raise OSError(errno.EINVAL, f"nothing is called {word!r}")
        said = b"ok " + said
    except OSError as exc:
        said = f"failed {exc}".encode(errors="replace")[:4000]
    socket.send_fds(control, [said], answer)
