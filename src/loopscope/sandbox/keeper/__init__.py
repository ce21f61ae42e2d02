"""Runs outside every sandbox: starts bubblewrap, enters its namespaces, kills what must die.

A program of its own, of the standard library alone (`namespace.py` starts it with `-I -S`; pathlib and contextlib would
double the time it takes to load, so pyproject.toml switches their lints off here). It loads once per engine process as
the *hub*; for each sandbox the hub forks a *keeper*. The keeper is bubblewrap's parent and stays outside the sandbox's
pid namespace: an agent can neither see nor signal it. When the engine dies, its socket closes and the keeper kills the
sandbox; when the keeper dies, bubblewrap's --die-with-parent does.

A running command is a chain: keeper -> entrant (joins the namespaces) -> reaper (first process inside; a child
subreaper, so that daemons of the command stay in its tree while it runs) -> the command.
"""
