"""Calls with an effect: the guard, processes, generators, files, pickles."""

from __future__ import annotations

import ast
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace

from loopscope.audit.reading.events import Run, Sent
from loopscope.audit.reading.expressions import FIRST, Expressions
from loopscope.audit.reading.grading import partial
from loopscope.audit.reading.known import BUILDERS, EVAL, LOOSE, OPEN_TO_ALL
from loopscope.audit.reading.values import NOTHING, Label, Ref, Thing, Value, union


class Effects(Expressions):
    """What calls do besides giving a value."""

    def method_of(self, node: ast.Call, ref: Ref, arguments: list[Value], keywords: Mapping[str, Value]) -> Value:
        """A method of the guard, or of a program under way."""
        thing, name = ref.bound, ref.name.split(".")[-1]
        assert thing is not None
        first = arguments[0] if arguments else next(iter(keywords.values()), NOTHING)
        labels = union([*arguments, *keywords.values()])
        if thing.what == "guard":
            if name == "new_box":
                return Value(first.labels | {("file", k) for k in first.fields or ()}, fields=first.fields)
            if name in ("run", "start"):
                return self.guarded(node, name, arguments, keywords)
            if name == "inside":
                return Value(labels)
        if thing.what == "program":
            own = thing.attributes["box"]
            if name in ("send", "send_handle"):
                self.story.sent.append(Sent(self.place(node), thing.run, first, own, name))
                return NOTHING
            if name in ("read", "read_all"):
                self.happen("said", node, Value(self.out(thing.run, own)))
                return Value(self.out(thing.run, own))
            return Value(frozenset())
        return Value(labels)

    def guarded(self, node: ast.Call, how: str, arguments: list[Value], keywords: Mapping[str, Value]) -> Value:
        """A program is started behind the guard."""
        order = ("argv", "box", "limits", "writable", "given")
        given = dict(zip(order, arguments, strict=False)) | dict(keywords)
        name = self.run_name(node)
        box, argv = given.get("box", NOTHING), given.get("argv", NOTHING)
        run = Run(
            self.place(node),
            name,
            True,
            argv,
            box,
            given.get("given", NOTHING),
            builds(argv),
            given.get("writable", NOTHING).const is True,
        )
        self.story.runs.append(run)
        thing = Thing("program", {"box": Value(box.labels | argv.labels)}, name)
        if how == "start":
            return Value(thing=thing)
        out = Value(self.out(name, Value(box.labels | argv.labels)))
        outcome = Thing(
            "outcome",
            {"output": out, "ok": NOTHING, "errors": NOTHING, "reason": NOTHING, "cpu": Value(frozenset({("cpu",)}))},
        )
        return Value(thing=outcome)

    def vendored(
        self, node: ast.Call, name: str, arguments: list[Value], keywords: Mapping[str, Value]
    ) -> Value | None:
        """Functions of the guard's `verdict` module; None for anything else."""
        head, _, last = name.rpartition(".")
        if head.split(".")[-1] in ("fence", "guard") and last == "Guard":
            if arguments and arguments[0] != NOTHING:
                self.happen("fence", node, arguments[0], f"a weaker fence is asked for: {self.code(node)}")
            return Value(thing=Thing("guard"))
        if head.split(".")[-1] != "verdict":
            return None
        given = [*arguments, *keywords.values()]
        if last == "seed":
            return Value(frozenset({("raw", *self.loops)}))
        if last == "setting":
            return Value(frozenset({("setting",)}))
        if last == "anchors":
            return Value(frozenset({("anchors",)}))
        if last == "submitted":
            names = [str(v.const) for v in (arguments[0].items or ())] if arguments else []
            fields = {n: Value(frozenset({("src", n)})) for n in names}
            labels = union(fields.values()) or frozenset({("src", "?")})
            return Value(labels, fields=fields)
        if last == "pristine":
            fields = {str(v.const): Value(frozenset({("own", str(v.const))})) for v in given}
            return Value(union(fields.values()), fields=fields)
        if last == "read_regular":
            file = arguments[1] if len(arguments) > 1 else NOTHING
            self.happen("read", node, Value(union(given)), self.code(node), file)
            if given and given[0].has("workdir"):
                return Value(frozenset({("src", str(file.const or "?"))}))
            return Value(union(given[:1]) - {label for v in given for label in v.of("file")})
        if last == "conclude" and given and given[0].ref is not None:
            result = self.follow(node, given[0].ref, [Value(thing=Thing("guard"))], {})
            self.happen("reward", node, result.at(0) if result.items else result)
            return NOTHING
        return None

    def run_name(self, node: ast.AST) -> str:
        """Name of a run: the calls that lead to it, and its line."""
        return "/".join((*self.chain, self.where(node)))

    def out(self, run: str, box: Value) -> frozenset[tuple[str, ...]]:
        """Labels of what a run prints: only a solution's word needs to be doubted."""
        return frozenset({("out", run)}) if box.has("src") or box.has("parsed") else frozenset({("own", run)})

    def generator(self, node: ast.Call, name: str, arguments: list[Value], keywords: Mapping[str, Value]) -> Value:
        """A random generator is made or seeded."""
        seed = arguments[0] if arguments else keywords.get("seed", keywords.get("x", keywords.get("a")))
        where = self.where(node)
        if seed is None or (seed == NOTHING and self.code(node).endswith("(None)")):
            return Value(frozenset({("drawn", where, *self.loops), ("rng",)}))
        if seed.has("rng") or (seed.has("drawn") and not seed.has("fixed") and not seed.has("small")):
            return Value(seed.labels | {("rng",)})
        known = not seed.has("raw")
        weak = any(seed.has(kind) for kind in ("small", "perhaps"))
        if known or weak:
            self.happen("seed", node, seed, self.code(node))
        since = {loop for label in seed.of("raw") for loop in label[1:]}
        again = tuple(loop for loop in self.loops if loop not in since and ("iter", loop) not in seed.labels)
        labels: set[Label] = {("rng", *again), ("drawn", where, *(loop for loop in self.loops if loop not in again))}
        return Value(frozenset(labels | ({("fixed", where)} if known or weak else set())))

    def drawn(self, node: ast.AST, receiver: Value, everything: Value) -> Value:
        """Something comes from a generator; one that is made anew with an old seed gives the same each time round."""
        again = {loop for label in receiver.of("rng") for loop in label[1:]}
        labels = {label for label in everything.labels if label[0] not in ("rng", "raw", "drawn")}
        where = f"{self.where(node)}:{getattr(node, 'col_offset', 0)}"
        labels |= {("drawn", where, *(loop for loop in self.loops if loop not in again))}
        return Value(frozenset(labels))

    def unpickled(self, node: ast.Call, name: str, value: Value, keywords: Mapping[str, Value]) -> None:
        """Something is unpickled or run as a program text."""
        last, head = name.split(".")[-1], name.split(".")[0]
        if head in ("numpy", "np") and keywords.get("allow_pickle", NOTHING).const is not True:
            return
        if head == "torch" and keywords.get("weights_only", NOTHING).const is True:
            return
        if head == "yaml" and (last == "load" and "Safe" in self.code(node)):
            return
        if head in ("pandas", "pd") and last != "read_pickle":
            return
        if last in ("decode", "open") and head not in ("jsonpickle", "shelve"):
            return
        if name in EVAL and not any(label[0] in ("out", "src") for label in value.labels):
            return
        self.happen("pickle", node, value, self.code(node))

    def loaded(self, node: ast.Call, name: str, arguments: list[Value], everything: Value) -> None:
        """Code comes into this process."""
        names = {f.rsplit("/", 1)[-1].rsplit(".", 1)[0]: f for f in self.editable}
        const = next((a.const for a in arguments if isinstance(a.const, str)), None)
        if everything.has("src") or (const in names and const not in self.modules):
            self.happen("load", node, everything.plus(("src", str(const))), self.code(node))

    def process(self, node: ast.Call, arguments: list[Value], keywords: Mapping[str, Value]) -> Value:
        """A program is started without the guard."""
        argv = arguments[0] if arguments else keywords.get("args", NOTHING)
        cwd, given = keywords.get("cwd", NOTHING), keywords.get("input", NOTHING)
        name = self.run_name(node)
        words = [v for v in (argv.items or ()) if isinstance(v.const, str)]
        compiles = bool(words and BUILDERS.search(str(words[0].const))) or bool(
            re.match(r"(?:g?cc|make|cargo|go) ", str(argv.const))
        )
        holds = argv.labels | cwd.labels
        if compiles and any(label[0] in ("src", "parsed") for label in holds):
            self.built |= {str(w.const) for w in words if str(w.const).startswith("/")} - {"/"}
        run = Run(self.place(node), name, False, replace(argv, labels=holds), Value(holds), given, compiles, True)
        self.story.runs.append(run)
        labels = self.out(name, Value(holds))
        return Value(labels, fields=None)

    def opened(self, node: ast.Call, arguments: list[Value], keywords: Mapping[str, Value], everything: Value) -> Value:
        """A file is opened."""
        path = arguments[0] if arguments else NOTHING
        mode = str((arguments[1] if len(arguments) > 1 else keywords.get("mode", NOTHING)).const or "r")
        open_to_all = isinstance(path.const, str) and path.const.startswith(OPEN_TO_ALL)
        if re.search("[wax]", mode) and "read" not in self.code(node.func):
            return Value(
                everything.labels
                | ({("plant", str(path.const or path.text))} if open_to_all or path.has("src") else set())
            )
        if path.has("src") or open_to_all:
            self.happen("read", node, path, self.code(node), path)
            return Value(frozenset({("src", str(path.const or "?"))}))
        return (
            Value(everything.labels | {("own", str(path.const or ""))}) if path.has("own") else Value(everything.labels)
        )

    def equality(self, node: ast.Call, keywords: Mapping[str, Value]) -> str:
        """How much a library's comparison compares."""
        loose = [v.const for v in keywords.values() if isinstance(v.const, float) and v.const >= LOOSE]
        return "partial" if loose or any(partial(a) for a in node.args[:2]) else "full"

    def rewarded(self, node: ast.AST, value: Value) -> None:
        """A dictionary with a reward is written."""
        if value.fields and "reward" in value.fields:
            self.happen("reward", node, value.fields["reward"])

    def put_all(self, holder: ast.expr, how: str, value: Value) -> None:
        """A method that fills a container."""
        if how in ("extend", "update"):
            self.put(holder, None, value.element() if value.elem or value.items else value)
            for key, part in (value.fields or {}).items():
                self.put(holder, key, part)
        else:
            self.put(holder, None, value)

    @abstractmethod
    def follow(self, node: ast.AST, ref: Ref, arguments: list[Value], keywords: Mapping[str, Value]) -> Value:
        """Go through a function of the verifier's; the class that builds on this one knows how."""


def builds(argv: Value) -> bool:
    """Whether a command starts with a compiler or a build tool."""
    first = argv.items[0] if argv.items else (argv.fields or {}).get(FIRST, argv)
    return bool(BUILDERS.search(str(first.const if isinstance(first.const, str) else first.text)))
