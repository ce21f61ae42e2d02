"""Texts that somebody will look at in a terminal or a browser."""

from __future__ import annotations

from kinds.base import Hostile, python, with_git

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x1b[8mhidden\x1b[0m\x9b31m\u202eterces\x00\r\x08"
TAGS = "<xss-mark onload=alert(1)></script><script>alert('xss-mark')</script><!--<img src=x onerror=alert(1)>[bold red]x[/]"
TEXT = ESCAPES + TAGS

KINDS = [
    Hostile(
        "texts_in_the_repository",
        "writes terminal escapes and tags into messages, authors, file names, branches, the journal and ignore rules",
        with_git(f"""
            text = {TEXT.replace(chr(0), "")!r}.encode()
            named = tree((b"100644", b"value.txt", blob(b"0.3\\n")), (b"100644", text.replace(b"/", b""), blob(text)))
            ref("heads/" + "<xss-mark>", commit(named, HEAD, who=text.replace(b"\\n", b"") + b" 1700000000 +0000", message=text * 5))
            ref("heads/master", commit(TREE, HEAD, message=b"round 2: change=" + text + b" hypothesis=" + text))
            os.makedirs("output", exist_ok=True)
            open("output/journal.md", "wb").write(b"# round 2\\n" + text * 20 + b"\\n| change | result |\\n|--|--|\\n|" + text + b"|0.9|\\n")
            open(text.replace(b"/", b"")[:200], "wb").write(text); open(".gitignore", "wb").write(text)
            """)
        + "git add -Af; git commit -qm '<xss-mark>round 3'",
    ),
    Hostile(
        "texts_in_its_error",
        "fails with an error full of escapes, tags, surrogates and nothing else",
        raises=TEXT * 3 + "\udcff\ud800",
        status=("agent_error",),
        says=("RuntimeError|surrogates not allowed",),
        same_for_all=True,
    ),
    Hostile(
        "a_giant_error",
        "fails with an error of ten megabytes",
        raises="x" * 10_000_000,
        status=("agent_error",),
        says=("RuntimeError",),
        same_for_all=True,
    ),
    Hostile(
        "texts_in_its_transcript",
        "writes a valid transcript whose texts, tool names and reports are escapes and tags",
        python(f"""
            import json
            text = {TEXT!r}
            step = dict(step_id=1, source="agent", message=text, timestamp="2026-01-01T00:00:00Z", model_name=text,
                tool_calls=[dict(tool_call_id=text, function_name=text, arguments=dict(command=text))],
                observation=dict(results=[dict(source_call_id=text, content=text)]),
                extra=dict(loopscope=dict(kind="evaluate", status="ok", commit=text, round=1)))
            json.dump(dict(schema_version="ATIF-v1.7", session_id=text, agent=dict(name=text, version=text, model_name=text),
                steps=[step] * 5, notes=text), open("/logs/agent/trajectory.json", "w"))
            open("/logs/agent/" + text.replace("/", "").replace(chr(0), "")[:80], "w").write(text)
            """),
        claims={"metadata": {"problem": TEXT, TAGS: TEXT}},
        same_for_all=True,
    ),
    Hostile(
        "texts_for_the_verifier",
        "makes the verifier print escapes and tags",
        python(f"open('value.txt', 'w').write({TEXT[:60].replace(chr(0), '')!r} + '<xss-mark>')"),
        final=("0",),
        same_for_all=True,
    ),
]
