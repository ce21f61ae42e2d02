"""The local Harbor environment: one bubblewrap sandbox per trial.

Public: `environment.LocalEnvironment` (import path `loopscope.sandbox.environment:LocalEnvironment`), `probe.probe`,
`toolchain.build` and the exceptions in `errors`. Nothing is imported here: the keeper, which runs without any
third-party package, lives below this room. The design is in `docs/design/sandbox.md`.
"""
