from __future__ import annotations

import asyncio
import os

from hypothesis import given
from hypothesis import strategies as st

from loopscope.sandbox.output import BoundedOutput, pump


@given(st.lists(st.binary(max_size=40)), st.integers(1, 30))
def test_keeps_head_and_tail_and_counts_the_rest(chunks: list[bytes], keep: int) -> None:
    output = BoundedOutput(keep)
    for chunk in chunks:
        output.add(chunk)
    whole = b"".join(chunks)
    assert output.total == len(whole)
    if len(whole) <= 2 * keep:
        assert output.bytes() == whole and output.omitted == 0
    else:
        assert output.omitted == len(whole) - 2 * keep
        assert output.bytes().startswith(whole[:keep]) and output.bytes().endswith(whole[-keep:])
        assert f"{output.omitted} bytes omitted" in output.text()


@given(st.binary(max_size=200))
def test_text_is_always_text(data: bytes) -> None:
    output = BoundedOutput()
    output.add(data)
    assert output.text() == data.decode("utf-8", errors="replace")


def test_pump_decodes_characters_split_between_reads() -> None:
    async def go() -> tuple[str, list[str]]:
        reader, writer = os.pipe()
        seen: list[str] = []
        output = BoundedOutput()

        async def on_text(text: str) -> None:
            seen.append(text)

        task = asyncio.create_task(pump(reader, output, on_text))
        for byte in "é€".encode():
            os.write(writer, bytes([byte]))
            await asyncio.sleep(0)
        os.close(writer)
        await task
        return output.text(), seen

    text, seen = asyncio.run(go())
    assert text == "".join(seen) == "é€"
