"""What builds are told beyond their files, always in the same form."""

from __future__ import annotations

import pytest
from made_calls import bash, calls

from loopscope.evidence.shell.build_flags import build_flags, departing, normal
from loopscope.evidence.shell.build_tools import build_tool
from loopscope.evidence.shell.calls import shell_calls


def told(command: str, **texts: str) -> str:
    """The flags of the last build of a command, beside files of which `_` stands for the dot of their names."""
    (shell,) = shell_calls(calls([bash(command)]), "/w/app")
    tools = [(one, tool) for one in shell.script.commands if (tool := build_tool(one)) is not None]
    flags = build_flags(shell, *tools[-1])
    return " ".join(map(str, departing(flags, {name.replace("_", "."): text for name, text in texts.items()})))


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("make", ""),
        ("make -j8 -C app", ""),
        ("make BLOCK_SIZE=256", "BLOCK_SIZE=256"),
        ("make -B BLOCK_SIZE=64 BLOCK_SIZE=256 -j4", "BLOCK_SIZE=256"),
        ("make NVCC=/usr/local/cuda/bin/nvcc CC=gcc V=1 RUNS=5 ARGS='--benchmark'", ""),
        ("make CC=clang", "CC=clang"),
        ("make 'NVFLAGS=-O3  -Xptxas -v -lineinfo -arch=sm_90'", "NVFLAGS=-O3 -arch=sm_90"),
        ("make NVFLAGS='-arch=sm_90 -O3'", "NVFLAGS=-O3 -arch=sm_90"),
        ("NVCCFLAGS='-O1' CUDA_VISIBLE_DEVICES=0 make", "NVCCFLAGS=-O1"),
        ("export CFLAGS=-O1; make", "CFLAGS=-O1"),
        ("CFLAGS=-O1; make", ""),
        ("CFLAGS=-O1; export CFLAGS; make", "CFLAGS=-O1"),
        ("nvcc -O3 -std=c++17 solve.cu -o a", ""),
        ("nvcc -O3 -DBLOCK=64 -D FAST solve.cu -o a", "-DBLOCK=64 -DFAST=1"),
        ("gcc -UFAST -D BLOCK=4 a.c", "-DBLOCK=4 -DFAST=(none)"),
        ("nvcc --use_fast_math solve.cu", ""),
        ("cargo build --release", ""),
        ("RUSTFLAGS='-C target-cpu=native -C codegen-units=1' cargo build -r", "RUSTFLAGS=-C codegen-units=1 -C target-cpu=native"),
        ("RUSTFLAGS='-Ccodegen-units=1 -Ctarget-cpu=native -g' cargo run", "RUSTFLAGS=-C codegen-units=1 -C target-cpu=native"),
        ("RUSTFLAGS='-D warnings' cargo build", ""),
        ("RUST_BACKTRACE=1 cargo run --release -- --features x", ""),
        ("cargo run --features simd,fast", "features=fast,simd"),
        ("cargo run --features 'fast simd' --no-default-features", "--no-default-features=1 features=fast,simd"),
        ("cargo build --config profile.release.lto=true", "--config profile.release.lto=true"),
        ("CARGO_PROFILE_RELEASE_LTO=fat cargo build", "CARGO_PROFILE_RELEASE_LTO=fat"),
        ("cargo rustc --release -- --emit asm", ""),
        ("cargo rustc --release -- -C target-cpu=native", "rustc=-C target-cpu=native"),
        ("cargo test --features x", ""),
        ("go build -o solve .", ""),
        ("go build -gcflags='-l -N' -o solve .", "-gcflags=-N -l"),
        ("go build -gcflags=all=-B", "-gcflags=-B"),
        ("go build -gcflags=-m . ; go build -gcflags='-m -m' .", ""),
        ("go build -gcflags=-S engine.go", ""),
        ("go run -tags b,a .", "tags=a,b"),
        ("go run -tags 'a b' -race .", "tags=a,b -race=1"),
        ("GOAMD64=v3 GOGC=off go build", "GOAMD64=v3"),
        ("go test -race .", ""),
    ],
)  # fmt: skip
def test_flags_in_one_form(command: str, flags: str) -> None:
    assert told(command) == flags


@pytest.mark.parametrize(
    ("command", "name", "text", "departs"),
    [
        ("nvcc -DBLOCK=128 solve.cu", "solve_cu", "#ifndef BLOCK\n#  define BLOCK (128) // threads\n#endif\n", False),
        ("nvcc -DBLOCK=256 solve.cu", "solve_cu", "#ifndef BLOCK\n#define BLOCK 128\n#endif\n", True),
        ("nvcc -DBLOCK=128 solve.cu", "solve_cu", "#define BLOCK_SIZE 128\n", True),
        ("nvcc -DFAST=1 solve.cu", "Makefile", "a: b\n\tnvcc -DFAST b.cu -o a\n", False),
        ("make BLOCK=64", "Makefile", "BLOCK ?= 64  # threads\n", False),
        ("make BLOCK=65", "Makefile", "BLOCK ?= 64\n", True),
        ("make CFLAGS='-Wall -O3'", "Makefile", "CFLAGS := -O3 -Wall -Wextra\n", False),
        ("CFLAGS=-O1 make", "Makefile", "CFLAGS = -O3\n", False),
        ("CFLAGS=-O1 make", "Makefile", "CFLAGS ?= -O3\n", True),
        ("CFLAGS=-O1 make", "Makefile", "CFLAGS += -O3\n", True),
        ("make CFLAGS=-O1", "Makefile", "CFLAGS = -O3\n", True),
        ("cargo build --features a", "Cargo_toml", '[features]\ndefault = ["a", "b"]\n', False),
        ("cargo build --features c", "Cargo_toml", '[features]\ndefault = ["a", "b"]\n', True),
        ("RUSTFLAGS='-C a=1' cargo build", "config_toml", '[build]\nrustflags = ["-C", "a=1"]\n', False),
        ("RUSTFLAGS='-C a=2' cargo build", "config_toml", '[build]\nrustflags = ["-C", "a=1"]\n', True),
    ],
)
def test_what_the_files_say_anyway_is_no_flag(command: str, name: str, text: str, departs: bool) -> None:
    assert bool(told(command, **{name: text})) is departs
    assert told(command)


def test_a_value_that_only_the_shell_knows_is_never_that_of_a_file() -> None:
    command = "for b in $(cat list); do make BLOCK=$b; done"
    assert told(command) == told(command, Makefile="BLOCK = $b\n") == "BLOCK=$b"


def test_options_that_cannot_be_split_are_still_told_apart() -> None:
    assert normal("-O3 -DX='a") != normal("-O3 -DX='b")
