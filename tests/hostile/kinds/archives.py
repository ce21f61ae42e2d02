"""Names, sizes and kinds of files that a packer or unpacker could stumble over."""

from __future__ import annotations

from kinds.base import Hostile, python

KINDS = [
    Hostile(
        "names_for_tar",
        "uses names that tar, xargs or a shell could take for options, commands, lines or headers",
        """
        touch -- -rf --checkpoint=1 '--checkpoint-action=exec=sh x' '-I sh' --to-command=x --absolute-names
        touch $'new\\nline' $'\\r' ' ' '\\' '*' '$(touch ran)' '`touch ran`' '"' "'" ';' '| sh' '~' '%s%n' '#' $'tab\\t'
        touch '30 path=../../x' 'GNU.sparse.name=x' $'27 path=/tmp/x\\n' 'PaxHeaders.0' './././@LongLink' '..x' '...' .tmp-x
        touch $(printf '\\377\\376') $(printf '\\355\\240\\200') $(printf '\\300\\257') $'\\u202e' $'\\ufeff'
        mkdir -- "$(printf 'd\\377')" '-d'; touch "$(printf 'd\\377')/x" '-d/--x'
        touch $(printf 'n%.0s' $(seq 255)) $(printf '\\u00e9%.0s' $(seq 127)); git add -Af; git commit -qm names""",
    ),
    Hostile(
        "deep_folders",
        "nests folders deeper than any path may be long, in the workspace and in its logs",
        python("""
            import os
            for top, part, depth in (("/app", "d" * 250, 40), ("/app", "e", 1500), ("/logs/agent", "f" * 250, 40)):
                os.chdir(top)
                for _ in range(depth):
                    os.mkdir(part); os.chdir(part)
                open("x", "w").write("x")
            """),
    ),
    Hostile(
        "special_files",
        "leaves pipes, sockets and devices in the workspace and among the logs",
        """
        for folder in . /logs/agent /logs/artifacts /logs/verifier; do
            mkfifo $folder/pipe $folder/trajectory.json
            mknod $folder/device c 1 3; mknod $folder/disk b 8 0; mknod $folder/whiteout c 0 0
            python3 -c "import os, socket; os.chdir('$folder'); socket.socket(socket.AF_UNIX).bind('socket')"
        done 2>/dev/null; git add -A; git commit -qm special; true""",
    ),
    Hostile(
        "holes",
        "leaves files that are large and hold nothing",
        "truncate -s 40M hole; truncate -s 7E /tmp/hole; truncate -s 40M /logs/artifacts/hole; truncate -s 40M /logs/agent/hole",
    ),
    Hostile(
        "holes_of_terabytes",
        "leaves a file of a terabyte that holds nothing",
        "truncate -s 1T hole",
        final=(None,),
        history=(),
        status=("agent_error",),
        says=("workspace_too_large",),
        long=True,
    ),
    Hostile(
        "many_files",
        "leaves 2,000 files in the workspace and 300 among the logs",
        python("""
            import os
            for folder, count in (("/app/many", 2000), ("/logs/agent/many", 300)):
                os.makedirs(folder); os.chdir(folder)
                for i in range(count): open(str(i), "w").close()
            """),
    ),
    Hostile(
        "a_million_files",
        "leaves a million files, or as many as it may",
        python("""
            import os
            for i in range(1000):
                os.makedirs(f"/app/many/{i}"); os.chdir(f"/app/many/{i}")
                for j in range(1000): open(str(j), "w").close()
            """),
        final=("0.3", None),
        long=True,
    ),
]
