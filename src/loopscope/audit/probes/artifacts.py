"""A file that the verifier unpickles: laid by the solution itself, or saved by its code."""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath

from loopscope.audit.finding import Finding, NotApplicable
from loopscope.audit.probes.attacks import pickle_loaded, told
from loopscope.audit.probes.lab import lab
from loopscope.audit.probes.weaving import language, piece
from loopscope.audit.subject import Subject
from loopscope.audit.trial import Act

_LOADERS = {
    **dict.fromkeys((".pkl", ".pickle", ".p"), "__import__('pickle').load(open(n,'rb'))"),
    ".npy": "__import__('numpy').load(n,allow_pickle=True)",
    ".npz": "dict(__import__('numpy').load(n,allow_pickle=True))",
}
_SAVERS = {
    **dict.fromkeys((".pkl", ".pickle", ".p"), "__import__('pickle').dump(v,open(n,'wb'))"),
    ".npy": "__import__('numpy').save(n,v)",
    ".npz": "__import__('numpy').savez(n,**v)",
}


async def artifact_loaded(subject: Subject) -> list[Finding]:
    """An editable data file is saved again so that loading it runs code; else the solution's own saving is changed."""
    names = [n for n in subject.sources.editable if PurePosixPath(n).suffix in _LOADERS]
    if not names:
        if not any(language(n) == "python" for n in subject.sources.editable):
            raise NotApplicable("no editable file is Python, or holds a pickle")
        return await pickle_loaded(subject)
    bench = lab(subject)
    script = piece("base.pyt") + piece("pickle.pyt").replace('"lsp_pid": _lsp_os.getpid()', '"lsp_pid": -1')
    for name in names:
        suffix = PurePosixPath(name).suffix
        script += f"\nn = {name!r}\nv = {_LOADERS[suffix]}\n{_SAVERS[suffix]}\n"
    act = Act("probe: pickle-loaded", command=f"python3 -c {shlex.quote(script)}")
    trial, before = await bench.attempt(act), await bench.base(False)
    if not await bench.stays(act, trial, before):
        return []
    what = f"loading {', '.join(names)} ran code in the verifier: {told(trial, 'starter', before)}"
    return [bench.finding("pickle-loaded", 9, trial, what, "take numbers as text or raw bytes, never as a pickle")]
