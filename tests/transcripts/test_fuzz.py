"""Ten thousand broken logs for each reader: nothing but the typed error leaves."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from log_mutations import mutated, overwritten
from log_seeds import Seed, seeds

from loopscope.transcripts import formats
from loopscope.transcripts.canonical import Transcript
from loopscope.transcripts.errors import TranscriptError

NAMES = sorted(formats.READERS)


def sound(transcript: Transcript) -> None:
    """What holds of every transcript, however broken its log was."""
    threads = set(transcript.threads)
    assert all(message.text and message.thread in threads for message in transcript.messages)
    assert all(call.tool and call.index >= 0 for call in transcript.calls)
    for entry in transcript.usage.entries:
        counts = (entry.input_uncached, entry.cache_read, entry.cache_write, entry.output)
        assert all(count is None or count >= 0 for count in counts)
    texts = [message.text for message in transcript.messages]
    texts += [call.result.text for call in transcript.calls if call.result]
    texts += [note.text for note in transcript.notes] + [mark.text for mark in transcript.marks]
    "".join(texts).encode()


def broken(seed: Seed, chance: random.Random) -> bytes:
    """The log of a seed, broken: outside or, for a container, mostly inside."""
    if seed.pack is None:
        return mutated(seed.data, chance, text=True)
    if chance.random() < 0.6:
        return seed.pack(mutated(seed.inner, chance, text=True))
    return overwritten(seed.data, chance) if chance.random() < 0.7 else mutated(seed.data, chance, text=False)


def attack(seed: Seed, folder: Path, times: int, first: int = 0) -> tuple[int, int]:
    """Read that many broken logs; how many gave transcripts, and how many the typed error."""
    read = refused = 0
    for number in range(first, first + times):
        path = seed.put(folder, broken(seed, random.Random(f"{seed.format} {number}")))
        try:
            formats.detect(path)
            for transcript in formats.read(path, seed.format):
                sound(transcript)
            read += 1
        except TranscriptError as error:
            assert "\n" not in str(error)
            refused += 1
        except Exception as error:
            raise AssertionError(f"{seed.format}, mutation {number}: {error!r}") from error
    return read, refused


def seed_of(name: str) -> Seed:
    return next(seed for seed in seeds() if seed.format == name)


@pytest.mark.parametrize("name", NAMES)
def test_every_seed_is_read_and_found_by_itself(name: str, tmp_path: Path) -> None:
    seed = seed_of(name)
    path = seed.put(tmp_path / "log", seed.data)
    assert formats.detect(path) == name
    transcripts = list(formats.read(path))
    assert transcripts
    for transcript in transcripts:
        sound(transcript)
        assert transcript.messages or transcript.calls
    assert sum(len(transcript.calls) for transcript in transcripts) >= 1


@pytest.mark.parametrize("name", NAMES)
def test_a_few_broken_logs(name: str, tmp_path: Path) -> None:
    assert sum(attack(seed_of(name), tmp_path / "log", 40)) == 40


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_three_hundred_broken_logs(name: str, tmp_path: Path) -> None:
    read, refused = attack(seed_of(name), tmp_path / "log", 300)
    # Most breaks leave something to read; none of these readers gives up on all.
    assert read > refused


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_ten_thousand_broken_logs(name: str, tmp_path: Path) -> None:
    assert sum(attack(seed_of(name), tmp_path / "log", 10_000)) == 10_000
