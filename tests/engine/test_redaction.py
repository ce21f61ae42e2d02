"""Values of an agent's environment leave no trace in a log of any size, wherever pieces are cut."""

from __future__ import annotations

import io
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from loopscope.engine import ending
from loopscope.engine.ending import Redactor

SECRETS = ["sk-secret", "sk-secret-longer", "another\nline"]


@given(st.lists(st.sampled_from([*SECRETS, "x", "sk-", "secret", "\n", "anothe"]), max_size=40), st.integers(1, 30))
def test_a_copy_in_pieces_is_the_copy_of_the_whole(parts: list[str], piece: int) -> None:
    redact, content, sink = Redactor(SECRETS), "".join(parts).encode(), io.BytesIO()
    with mock.patch.object(ending, "_CHUNK", piece):
        redact.copy(io.BytesIO(content), sink)
    assert sink.getvalue() == redact(content)
    assert not any(secret.encode() in sink.getvalue() for secret in SECRETS)


@given(st.binary(max_size=100), st.integers(1, 30))
def test_without_secrets_nothing_changes(content: bytes, piece: int) -> None:
    sink = io.BytesIO()
    with mock.patch.object(ending, "_CHUNK", piece):
        Redactor(["", "short"]).copy(io.BytesIO(content), sink)
    assert sink.getvalue() == content
