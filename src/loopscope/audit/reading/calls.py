"""Calls: the verifier's own functions are followed, libraries are known by name."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from loopscope.audit.reading import known
from loopscope.audit.reading.effects import Effects
from loopscope.audit.reading.grading import grades, outputs, weakened
from loopscope.audit.reading.state import MOST_DEEP, Frame, Module
from loopscope.audit.reading.values import (
    NOTHING,
    Label,
    Ref,
    Thing,
    Value,
    again,
    few_choices,
    join,
    joined_path,
    union,
)


class Calls(Effects):
    """The whole reader."""

    def _of_Call(self, node: ast.Call) -> Value:
        called = self.value(node.func)
        arguments = [self.value(a) for a in node.args]
        keywords = {k.arg or "**": self.value(k.value) for k in node.keywords}
        ref = called.ref
        if ref is not None and ref.kind == "function" and ref.node is not None:
            return self.follow(node, ref, arguments, keywords)
        if ref is not None and ref.kind == "class" and isinstance(ref.node, ast.ClassDef):
            return self.construct(node, ref, arguments, keywords)
        if ref is not None and ref.kind == "method" and ref.bound is not None:
            return self.method_of(node, ref, arguments, keywords)
        if ref is not None and ref.kind == "library":
            return self.library(node, ref.name, arguments, keywords, called)
        if isinstance(node.func, ast.Attribute):
            return self.method(node, node.func, arguments, keywords)
        return Value(union([called, *arguments, *keywords.values()]))

    def follow(self, node: ast.AST, ref: Ref, arguments: list[Value], keywords: Mapping[str, Value]) -> Value:
        """Go through a function of the verifier's with these arguments."""
        function = ref.node
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        step = f"{getattr(node, 'lineno', 0)}"
        key = (
            ref.name,
            id(function),
            tuple(arguments),
            tuple(sorted(keywords.items(), key=lambda k: k[0])),
            self.loops,
            self.chain,
            step,
        )
        try:
            if key in self.memo:
                return self.memo[key]
        except TypeError:
            key = None  # type: ignore[assignment]
        if len(self.chain) >= MOST_DEEP or any(
            f.names.get("()") == Value(const=id(function)) for f in self.frames[-40:]
        ):
            return Value(union([*arguments, *keywords.values()])).without("told")
        module, outer = ref.scope if isinstance(ref.scope, tuple) else (ref.scope, None)
        assert isinstance(module, Module)
        names = dict(outer or {})
        names["()"] = Value(const=id(function))
        self.frames.append(Frame(module, names))
        self.parameters(function.args, ref, arguments, keywords)
        kept, self.chain = self.chain, (*self.chain, step)
        if isinstance(function, ast.Lambda):
            result = self.value(function.body)
        else:
            self.block(function.body)
            result = self.marked(join(self.frames[-1].returned), function.name)
            if any("cache" in self.code(d) for d in function.decorator_list) and result.has("drawn"):
                result = again(result)
        self.chain = kept
        self.frames.pop()
        if key is not None:
            self.memo[key] = result
        return result

    def marked(self, value: Value, function: str) -> Value:
        """A function's result: each part of a tuple, or the whole, bears where it came from."""
        if value.items is not None and 1 < len(value.items) < 9:
            items = tuple(
                v.plus(("ret", function, str(i), str(len(value.items or ())))) for i, v in enumerate(value.items)
            )
            return replace(value, items=items, labels=union(items))
        return value.plus(("ret", function, "0", "1")) if value.has("drawn") else value

    def parameters(self, declared: ast.arguments, ref: Ref, given: list[Value], keywords: Mapping[str, Value]) -> None:
        """Bind parameters."""
        names = [a.arg for a in (*declared.posonlyargs, *declared.args)]
        values = (
            [Value(thing=ref.bound, labels=ref.bound.attributes.get("()", NOTHING).labels), *given]
            if ref.bound
            else list(given)
        )
        defaults = dict(zip(names[len(names) - len(declared.defaults) :], declared.defaults, strict=True))
        defaults |= {a.arg: d for a, d in zip(declared.kwonlyargs, declared.kw_defaults, strict=True) if d is not None}
        for name, default in defaults.items():
            self.names[name] = self.value(default)
        for name, value in zip(names, values, strict=False):
            self.names[name] = value
        if declared.vararg:
            self.names[declared.vararg.arg] = Value(union(values[len(names) :]), items=tuple(values[len(names) :]))
        known = {*names, *(a.arg for a in declared.kwonlyargs)}
        self.names.update({k: v for k, v in keywords.items() if k in known})
        for name in known - set(self.names):
            self.names[name] = NOTHING

    def construct(self, node: ast.AST, ref: Ref, arguments: list[Value], keywords: Mapping[str, Value]) -> Value:
        """Make an object of a class of the verifier's."""
        given = [*arguments, *keywords.values()]
        assert isinstance(ref.node, ast.ClassDef)
        methods = {n.name: n for n in ref.node.body if isinstance(n, ast.FunctionDef)}
        if "__init__" not in methods:
            return Value(union(given))
        if any(v.has("src") for v in given):  # taken apart and put together by a parser of the verifier's
            return Value(frozenset({("parsed",)}))
        thing = Thing(ref.name)
        for name, method in methods.items():
            thing.attributes["()" + name] = Value(ref=Ref("function", f"{ref.name}.{name}", method, ref.scope))
        init = thing.attributes["()__init__"].ref
        assert init is not None
        self.follow(node, replace(init, bound=thing), arguments, keywords)
        return Value(union(given), thing=thing)

    def library(
        self, node: ast.Call, name: str, arguments: list[Value], keywords: Mapping[str, Value], called: Value
    ) -> Value:
        """A library's function."""
        last = name.split(".")[-1]
        everything = Value(union([called, *arguments, *keywords.values()]))
        first = arguments[0] if arguments else next(iter(keywords.values()), NOTHING)
        special = self.vendored(node, name, arguments, keywords)
        if special is not None:
            return special
        if name in ("os.write", "os.pwrite") and len(arguments) > 1:
            self.put(node.args[0], None, arguments[1])
            return NOTHING
        if last == "memfd_create":
            return Value(frozenset({("memfd", self.where(node))}))
        if (
            last == "fcntl"
            and len(arguments) > 2
            and (arguments[1].const == 1033 or "ADD_SEALS" in self.code(node.args[1]))
        ):
            sealed = ("sealed",) if isinstance(arguments[2].const, int) and arguments[2].const & 8 else ()
            if sealed or "SEAL_WRITE" in self.code(node.args[2]):
                self.put(node.args[0], None, Value(frozenset({("sealed",)})))
            return NOTHING
        if name == "type" and first.thing is not None and first.thing.what == "guard":
            return Value(ref=Ref("library", "guard.fence.Guard"))
        if known.ENTROPY.fullmatch(name):
            short = last in ("urandom", "token_bytes", "getrandom") and isinstance(first.const, int) and first.const < 3
            few = last in ("randbelow", "choice", "randbits") and (
                not isinstance(first.const, int) or first.const < 1 << 20
            )
            if last == "randbits":
                few = isinstance(first.const, int) and first.const < 20
            labels: set[Label] = {("raw", *self.loops)} | ({("small",)} if short or few else set())
            labels |= {("drawn", self.where(node), *self.loops)} if last == "SystemRandom" else set()
            return Value(frozenset(labels))
        if known.GENERATORS.fullmatch(name):
            return self.generator(node, name, arguments, keywords)
        if known.MODULE_RANDOM.fullmatch(name):
            few = last in ("choice", "randint", "randrange") and not everything.labels and few_choices(arguments)
            return Value(
                everything.labels | {("drawn", self.where(node), *self.loops)} | ({("small",)} if few else set())
            )
        if known.CLOCKS.fullmatch(name):
            return Value(frozenset({("clock",)}))
        if name in known.EVAL or known.PICKLES.fullmatch(name):
            self.unpickled(node, name, everything, keywords)
            return Value(everything.labels)
        if known.LOADS.fullmatch(name):
            self.loaded(node, name, arguments, everything)
            own = self.modules.get(str(first.const).split(".")[-1]) if last in ("import_module", "__import__") else None
            return (
                Value(
                    everything.labels,
                    ref=Ref("library", str(first.const) if last in ("import_module", "__import__") else name),
                )
                if own is None
                else Value(ref=Ref("module", own.file, scope=own))
            )
        if known.PROCESSES.fullmatch(name):
            return self.process(node, arguments, keywords)
        if (last in ("get", "getenv") and "environ" in name) or name == "os.getenv":
            default = arguments[1] if len(arguments) > 1 else NOTHING
            env = {("env",)} if len(arguments) < 2 else {("env",), ("perhaps",)}
            return Value(default.labels | env, const=default.const)
        if name.startswith(("os.path.", "posixpath.", "pathlib.", "Path")) and last in (
            "join",
            "Path",
            "abspath",
            "realpath",
        ):
            return Value(everything.labels, const=joined_path(arguments), fields=first.fields)
        if last in known.LOOKS and any(a.has("src") or str(a.const).startswith(known.OPEN_TO_ALL) for a in arguments):
            self.happen("read", node, everything, self.code(node), first)
            return Value(everything.labels)
        if last in ("save", "savez", "savetxt", "dump") and any(
            a.has("plant") or str(a.const).startswith(known.OPEN_TO_ALL) for a in arguments
        ):
            self.happen("wrote", node, everything)
        if last in known.READS or name in known.READS:
            return self.opened(node, arguments, keywords, everything)
        return self.computed(node, last, arguments, keywords, everything)

    def computed(
        self, node: ast.Call, last: str, arguments: list[Value], keywords: Mapping[str, Value], everything: Value
    ) -> Value:
        """A function that only computes."""
        labels = everything.labels
        first = arguments[0] if arguments else NOTHING
        if last in known.EQUAL and len(arguments) > 1:
            return Value(labels | grades(first, arguments[1], self.equality(node, keywords)))
        plain = last in known.TOLD and not everything.has("drawn")
        told = {("told", run) for run in outputs(everything)} if plain else set()
        if last in known.WEAK:
            weak = weakened(labels) | {label for label in labels if label[0] == "told" and last != "len"}
            return Value(frozenset(weak))
        if last in ("enumerate",):
            element = first.element()
            return Value(labels, elem=Value(element.labels, items=(NOTHING, element)))
        if last == "zip":
            parts = tuple(a.element() for a in arguments)
            return Value(labels, elem=Value(union(parts), items=parts), fields=None)
        if last in ("list", "tuple", "sorted", "reversed", "iter", "set", "frozenset", "deque") and len(arguments) == 1:
            return replace(first, labels=labels, const=None)
        if last in ("repeat", "cycle") and first.has("drawn"):
            return Value(labels | {("repeated",)}, elem=first.plus(("repeated",)))
        if last == "dict":
            return Value(labels, fields={**(first.fields or {}), **keywords}, elem=first.elem)
        if last in ("dump", "dumps", "write_text") and "json" in self.code(node.func) + str(first.labels):
            self.rewarded(node, first)
        if last in known.ARITHMETIC or last in known.TOLD:
            kept = join([a.element() for a in arguments]) if last in ("min", "max") and len(arguments) == 1 else NOTHING
            return Value(labels | told | kept.labels)
        return Value(labels).without("told")

    def method(
        self, node: ast.Call, func: ast.Attribute, arguments: list[Value], keywords: Mapping[str, Value]
    ) -> Value:
        """A method of something that is known by its labels only."""
        receiver = self.value(func.value)
        name = func.attr
        given = [*arguments, *keywords.values()]
        everything = Value(union([receiver, *given]))
        if name in ("append", "add", "extend", "update", "setdefault", "insert") and given:
            self.put_all(func.value, name, given[-1])
            return NOTHING
        if name in ("read_text", "read_bytes", "open") and receiver.has("src"):
            return self.opened(node, [receiver, *arguments], keywords, everything)
        if (
            name in ("get", "pop")
            and receiver.fields is not None
            and node.args
            and (key := self.key(node.args[0])) in receiver.fields
        ):
            assert key is not None
            return receiver.fields[key]
        if name in ("values", "items", "keys") and receiver.fields is not None:
            element = join(receiver.fields.values())
            return Value(
                receiver.labels, elem=Value(element.labels, items=(NOTHING, element)) if name == "items" else element
            )
        if name == "items" and receiver.elem is not None:
            return Value(receiver.labels, elem=Value(receiver.labels, items=(NOTHING, receiver.elem)))
        if any(label[0] in ("rng", "drawn", "fixed") for label in receiver.labels) and receiver.has("rng"):
            return self.drawn(node, receiver, everything)
        if (
            name in ("load", "loads", "recv")
            and receiver.ref is None
            and name == "recv"
            and "onn" in self.code(func.value)
        ):
            self.unpickled(node, "multiprocessing recv", everything, keywords)
        if name in ("exec_module", "load_module"):
            self.loaded(node, name, [receiver], everything)
        if name in ("write_text", "write_bytes", "write", "writelines") and (
            receiver.has("src") or receiver.has("plant")
        ):
            self.happen("wrote", node, Value(union(given)))
        if name == "write" and given:
            self.put(func.value, None, Value(given[0].labels))
        if name in (
            "group",
            "groups",
            "decode",
            "encode",
            "strip",
            "split",
            "splitlines",
            "stdout",
            "item",
            "tolist",
            "astype",
        ):
            return Value(everything.labels, elem=receiver.elem)
        return self.computed(node, name, [receiver, *arguments], keywords, everything)
