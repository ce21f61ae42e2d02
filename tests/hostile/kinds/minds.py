"""What an agent says of itself: transcripts, tokens, costs, names."""

from __future__ import annotations

from typing import Any

from kinds.base import Hostile, python

TRANSCRIPT = "/logs/agent/trajectory.json"


def transcript(name: str, tries: str, script: str, **more: Any) -> Hostile:
    return Hostile(name, tries, script, status=("completed", "agent_error"), **more)


KINDS = [
    transcript(
        "transcript_noise",
        "leaves bytes that are no text",
        f"head -c 3000000 /dev/urandom > {TRANSCRIPT}",
        same_for_all=True,
    ),
    transcript(
        "transcript_nested",
        "nests its transcript five million levels deep",
        python(f"open('{TRANSCRIPT}', 'w').write('[' * 5000000)"),
        same_for_all=True,
    ),
    transcript(
        "transcript_types",
        "gives every field of its transcript a wrong type",
        python(f"""
            import json
            odd = [None, True, -1, 1e308, "x", [], {{}}, [[1]], {{"a": {{}}}}]
            steps = [dict(step_id=o, source=s, message=o, timestamp=o, tool_calls=o, observation=o, metrics=o, extra=dict(loopscope=o))
                     for o in odd for s in ("agent", "user", None, 7)]
            steps += [dict(source="agent", tool_calls=[dict(tool_call_id=o, function_name=o, arguments=o)], extra=o) for o in odd] + odd
            steps += [dict(source="agent", tool_calls=[{{}}], extra=dict(loopscope=dict(kind=o, status=o, commit=o, round=o, score=o))) for o in odd]
            json.dump(dict(schema_version=7, agent=odd, steps=steps, final_metrics=dict(total_cost_usd="x")), open("{TRANSCRIPT}", "w"))
            """),
        same_for_all=True,
    ),
    transcript(
        "transcript_numbers",
        "claims negative, endless and non-finite amounts in its transcript",
        python(f"""
            amounts = ["-1", "1e400", "NaN", "-Infinity", "9" * 4000, "true"]
            steps = ",".join('{{"step_id":%s,"source":"agent","message":"m","metrics":{{"prompt_tokens":%s,"cost_usd":%s}}}}' % (a, a, a) for a in amounts)
            open("{TRANSCRIPT}", "w").write('{{"schema_version":"ATIF-v1.7","agent":{{"name":"a","version":"1"}},"steps":[%s],"final_metrics":'
                '{{"total_prompt_tokens":-5,"total_cost_usd":NaN}}}}' % steps)
            """),
        same_for_all=True,
    ),
    transcript(
        "transcript_is_a_link",
        "makes its transcript a link to a file of the host, beside folders and pipes of such names",
        f'ln -sf "$HOST_CANARY" {TRANSCRIPT}; mkdir -p /logs/agent/transcript.json /logs/agent/record.json; '
        'mkfifo /logs/agent/pipe; ln -s "$HOST_PLACE/study" /logs/agent/study',
    ),
    transcript(
        "transcript_is_a_folder", "makes its transcript a folder", f"mkdir -p {TRANSCRIPT}/x; echo x > {TRANSCRIPT}/x/y"
    ),
    transcript(
        "transcript_of_a_gigabyte",
        "leaves a transcript of more than a gigabyte",
        f"(printf '{{\"steps\":[\"'; head -c 1200000000 /dev/zero | tr '\\0' x; printf '\"]}}') > {TRANSCRIPT}",
        long=True,
    ),
    Hostile(
        "claims_negative_amounts",
        "tells Harbor of negative tokens and costs that are no numbers",
        claims={"n_input_tokens": -5, "n_cache_tokens": -(10**30), "n_output_tokens": 10**30, "cost_usd": float("nan")},
        status=("completed", "agent_error"),
        same_for_all=True,
    ),
    Hostile(
        "claims_of_wrong_types",
        "tells Harbor amounts and metadata of types that its models refuse",
        claims={"n_input_tokens": "many", "cost_usd": [1], "metadata": {1: {2}, "loopscope_problem": ["x" * 100000]}},
        status=("completed", "agent_error"),
        same_for_all=True,
    ),
    Hostile(
        "claims_that_end_in_themselves",
        "gives Harbor metadata that contain themselves, nest a thousandfold and cannot be written",
        claims={"metadata": "CYCLE"},
        status=("completed", "agent_error"),
        same_for_all=True,
    ),
    Hostile(
        "blames_its_provider",
        "fails with an error that speaks of a rate limit and a long wait, to be tried again",
        raises="ApiRateLimitError: 429 too many requests; retry-after: 3600; insufficient_quota; 503 overloaded",
        status=("agent_error",),
        says=("RuntimeError: ApiRateLimitError",),
        same_for_all=True,
    ),
    Hostile(
        "blames_the_machine",
        "fails with an error that speaks of a full disk, to stop the study or be tried again",
        raises="OSError: [Errno 28] No space left on device: /; MemoryError; SandboxGoneError",
        status=("agent_error",),
        says=("RuntimeError: OSError",),
        same_for_all=True,
    ),
]
