"""The kernel language: a small part of CUDA C++, read strictly and written anew for a backend.

Nothing of a solution's text reaches a compiler. It is parsed here, and what a compiler gets is built from numbers, from names with a
prefix, and from the constructs below; there are no pointers, arrays, addresses, casts or calls of foreign functions to build from, every value is
an unsigned number of 32 bits, and every access to memory is an accessor with a checked index. So no solution can reach the counters.

    #define NAME expression                 a constant
    SHARED(name, words)                     words of shared memory, for every block anew
    DEVICE u32 name(u32 a, u32 b) { ... }   a function, or DEVICE void; it calls only what stands above it
    KERNEL void name(void) { ... }
    PLAN void name(void) { LAUNCH(kernel, blocks, threads); ... }

Standard library only, Python 3.9.
"""

from collections import namedtuple

from words import FULL, Refused, Value, compute, number, tokens, written

BUFFERS = ("scale", "shift", "starts", "heads", "out_scale", "out_shift", "scratch")
WRITABLE = BUFFERS[4:]
PLACES = ("THREAD", "BLOCK", "THREADS", "BLOCKS")
SIZES = ("N", "SEGMENTS")
WORDS = {"u32", "void", "if", "else", "for", "while", "return", "break", "continue", "SHARED", "DEVICE", "KERNEL", "PLAN",
         "LAUNCH", "LOAD", "STORE", "GET", "PUT", "BARRIER", *BUFFERS, *PLACES, *SIZES}  # fmt: skip
SHARED_WORDS, SITES, LAUNCHES, NESTED, NAMES, FUNCTIONS = 12288, 256, 16, 40, 100, 40
LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"), ("*", "/", "%"))
ASSIGN = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
Function = namedtuple("Function", "result count")


class Parser:
    """Reads one text; `lines` is what the compiler gets."""

    def __init__(self, text):
        self.tokens, self.at, self.lines, self.depth, self.site = tokens(text), 0, [], 0, 0
        self.constants, self.shared, self.functions, self.kernels = {}, {}, {}, set()
        self.scopes, self.result, self.loops, self.planning, self.names, self.planned = [], None, 0, False, 0, False

    # -- words ------------------------------------------------------------------------------------------------------

    def refuse(self, why):
        raise Refused("line %d: %s (at %r)" % (self.now.line, why, self.now.text))

    @property
    def now(self):
        return self.tokens[self.at]

    def take(self, text=None, kind=None):
        token = self.now
        if (text is not None and token.text != text) or (kind and token.kind != kind):
            self.refuse("expected %s" % (text or kind))
        self.at += 1
        return token.text

    def maybe(self, *texts):
        if self.now.kind != "end" and self.now.text in texts:
            return self.take()
        return None

    def new_name(self):
        name = self.take(kind="name")
        if name in WORDS or name in self.constants or name in self.shared or name in self.functions or name in self.kernels:
            self.refuse("the name %s is taken" % name)
        return name

    def new_site(self):
        self.site += 1
        if self.site >= SITES:
            self.refuse("more than %d accesses and barriers" % SITES)
        return self.site

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self):
        self.depth += 1
        if self.depth > NESTED:
            self.refuse("nested too deeply")
        value = self.level(0)
        if self.maybe("?"):
            yes = self.expression()
            self.take(":")
            no = self.expression()
            known = None if None in (value.constant, yes.constant, no.constant) else yes.constant if value.constant else no.constant
            value = self.value("(%s ? %s : %s)" % (value.text, yes.text, no.text), value.cost + yes.cost + no.cost + 1, known)
        self.depth -= 1
        return value

    def value(self, text, cost, constant):
        if len(text) > 20000:
            self.refuse("an expression that is too long")
        return Value(text if constant is None else "%du" % constant, cost if constant is None else 0, constant)

    def level(self, depth):
        if depth == len(LEVELS):
            return self.unary()
        left = self.level(depth + 1)
        while operator := self.maybe(*LEVELS[depth]):
            right = self.level(depth + 1)
            known = None if None in (left.constant, right.constant) else compute(operator, left.constant, right.constant)
            left = self.value(written(operator, left.text, right.text), left.cost + right.cost + 1, known)
        return left

    def unary(self):
        operators = []
        while operator := self.maybe("-", "~", "!"):
            operators.append(operator)
            if len(operators) > 4:
                self.refuse("too many signs")
        value = self.primary()
        for operator in reversed(operators):
            known = value.constant
            if known is not None:
                known = {"-": -known & FULL, "~": ~known & FULL, "!": int(not known)}[operator]
            value = self.value("((u32)(%s%s))" % (operator, value.text), value.cost + 1, known)
        return value

    def primary(self):
        if self.maybe("("):
            value = self.expression()
            self.take(")")
            return value
        if self.now.kind == "number":
            known = number(self.now.text)
            return self.refuse("no number of 32 bits") if known is None else self.value(self.take(), 0, known)
        name = self.take(kind="name")
        if name in self.constants:
            return self.value("", 0, self.constants[name])
        if name in SIZES and self.scopes:
            return Value(("PLAN_" if self.planning else "") + name, 0, None)
        if self.planning or not self.scopes:
            self.refuse("only constants%s are known here, not %s" % (" and sizes" if self.planning else "", name))
        if name in PLACES:
            return Value(name, 0, None)
        if any(name in scope for scope in self.scopes):
            return Value("v_" + name, 0, None)
        if name in ("LOAD", "GET"):
            return self.access(name)
        if name in self.functions and self.functions[name].result == "u32":
            return self.call(name)
        return self.refuse("not known here: %s" % name)

    def access(self, name):
        """LOAD(buffer, index), STORE(buffer, index, value), GET(shared, index) or PUT(shared, index, value)."""
        self.take("(")
        where = self.take(kind="name")
        if name in ("GET", "PUT"):
            place = "%d, %d" % self.shared[where] if where in self.shared else self.refuse("no shared memory %s" % where)
        elif where not in (BUFFERS if name == "LOAD" else WRITABLE):
            self.refuse("%s cannot take %s" % (name, where))
        else:
            place = "B_%s, %d" % (where, self.new_site())
        parts = []
        for _ in range(2 if name in ("STORE", "PUT") else 1):
            self.take(",")
            parts.append(self.expression())
        self.take(")")
        return self.value("%s(%s, %s)" % (name, place, ", ".join(p.text for p in parts)), sum(p.cost for p in parts) + 1, None)

    def call(self, name):
        self.take("(")
        parts = []
        while not self.maybe(")"):
            if parts:
                self.take(",")
            parts.append(self.expression())
        if len(parts) != self.functions[name].count:
            self.refuse("%s takes %d values" % (name, self.functions[name].count))
        return self.value("f_%s(%s)" % (name, ", ".join(p.text for p in parts)), sum(p.cost for p in parts) + 1, None)

    # -- statements ---------------------------------------------------------------------------------------------------

    def simple(self):
        """A declaration, an assignment, an accessor or a call, without its semicolon: (declares, text, cost)."""
        if self.maybe("u32"):
            parts, cost = [], 0
            while not parts or self.maybe(","):
                name = self.new_name()
                self.take("=")
                value = self.expression()
                if any(name in scope for scope in self.scopes):  # else `u32 x = x` would be what no one has written
                    self.refuse("%s is there already" % name)
                self.names += 1
                if self.names > NAMES:
                    self.refuse("more than %d variables in a function" % NAMES)
                self.scopes[-1].add(name)
                parts.append("v_%s = %s" % (name, value.text))
                cost += value.cost + 1
            return True, "u32 " + ", ".join(parts), cost
        turned = self.maybe("++", "--")
        name = self.take(kind="name")
        if any(name in scope for scope in self.scopes):
            operator = turned or self.maybe("++", "--", *ASSIGN) or self.refuse("expected an assignment")
            if operator in ("++", "--"):
                return False, "v_%s %s= 1u" % (name, operator[0]), 1
            value = self.expression()
            text = value.text if operator == "=" else written(operator[:-1], "v_" + name, value.text)
            return False, "v_%s = %s" % (name, text), value.cost + 1
        if turned:
            self.refuse("no variable %s" % name)
        if name in ("STORE", "PUT"):
            return (False, *self.access(name)[:2])
        if name == "BARRIER":
            self.take("(")
            self.take(")")
            return False, "BARRIER(%d)" % self.new_site(), 1
        if name in self.functions:
            return (False, *self.call(name)[:2])
        return self.refuse("no statement: %s" % name)

    def block(self):
        """One statement or a block of them, in braces anyhow."""
        self.depth += 1
        if self.depth > NESTED:
            self.refuse("nested too deeply")
        self.scopes.append(set())
        self.lines.append("{")
        if self.maybe("{"):
            while not self.maybe("}"):
                self.statement()
        else:
            self.statement()
        self.lines.append("}")
        self.scopes.pop()
        self.depth -= 1

    def condition(self):
        self.take("(")
        value = self.expression()
        self.take(")")
        return "(STEP(%d), %s)" % (value.cost + 1, value.text)

    def statement(self):
        if self.now.text == "{":
            self.block()
        elif self.maybe("if"):
            self.lines.append("if (%s)" % self.condition())
            self.block()
            if self.maybe("else"):
                self.lines.append("else")
                self.block()
        elif self.maybe("while"):
            self.lines.append("while (%s)" % self.condition())
            self.body()
        elif self.maybe("for"):
            self.repeat()
        elif self.maybe("return"):
            value = self.expression() if self.result == "u32" else Value("", 0, None)
            self.take(";")
            self.lines.append("STEP(%d); return %s;" % (value.cost + 1, value.text))
        elif word := self.maybe("break", "continue"):
            if not self.loops:
                self.refuse("%s outside a loop" % word)
            self.take(";")
            self.lines.append("STEP(1); %s;" % word)
        elif not self.maybe(";"):
            _, text, cost = self.simple()
            self.take(";")
            self.lines.append("STEP(%d); %s;" % (cost, text))

    def body(self):
        self.loops += 1
        self.block()
        self.loops -= 1

    def repeat(self):
        self.take("(")
        self.scopes.append(set())
        _, start, first = self.simple() if self.now.text != ";" else (False, "", 0)
        self.take(";")
        value = self.expression() if self.now.text != ";" else Value("1u", 0, 1)
        self.take(";")
        declares, turn, cost = self.simple() if self.now.text != ")" else (False, "(void)0", 0)
        if declares:
            self.refuse("a declaration in the last part of for")
        self.take(")")
        self.lines.append("{ STEP(%d); %s;" % (first, start))
        self.lines.append("for (; (STEP(%d), %s); STEP(%d), %s)" % (value.cost + 1, value.text, cost, turn))
        self.body()
        self.lines.append("}")
        self.scopes.pop()

    # -- the file -----------------------------------------------------------------------------------------------------

    def definition(self, kind):
        result = self.maybe("u32", "void") if kind == "DEVICE" else self.take("void")
        name = self.new_name()
        self.take("(")
        parameters = []
        if not self.maybe("void"):
            while not parameters or self.maybe(","):
                self.take("u32")
                parameters.append(self.new_name())
        self.take(")")
        if not result or len(set(parameters)) != len(parameters) or (parameters and kind != "DEVICE"):
            self.refuse("not so declared")
        if len(self.functions) + len(self.kernels) > FUNCTIONS:
            self.refuse("more than %d functions" % FUNCTIONS)
        self.scopes, self.result, self.names = [set(parameters)], result, len(parameters)
        if kind == "PLAN":
            return self.plan()
        prefix = "f" if kind == "DEVICE" else "k"
        self.lines.append("%s %s %s_%s(%s)" % (kind, result, prefix, name, ", ".join("u32 v_" + p for p in parameters) or "void"))
        if self.now.text != "{":
            self.refuse("expected {")
        self.lines.append("{")
        self.block()
        self.lines.append("return 0u; }" if result == "u32" else "}")
        self.scopes = []
        if kind == "KERNEL":
            return self.kernels.add(name)
        self.functions[name] = Function(result, len(parameters))
        return None

    def plan(self):
        if self.planned:
            self.refuse("a second plan")
        self.planned = self.planning = True
        self.take("{")
        launches = []
        while not self.maybe("}"):
            self.take("LAUNCH")
            self.take("(")
            name = self.take(kind="name")
            if name not in self.kernels:
                self.refuse("no kernel %s" % name)
            self.take(",")
            blocks = self.expression()
            self.take(",")
            threads = self.expression()
            self.take(")")
            self.take(";")
            launches.append("LAUNCH(k_%s, %s, %s);" % (name, blocks.text, threads.text))
        if len(launches) > LAUNCHES:
            self.refuse("more than %d launches" % LAUNCHES)
        self.lines += ["static void plan(void)", "{", *launches, "}"]
        self.scopes, self.planning = [], False

    def file(self):
        used = 0
        while self.now.text != "end of file":
            if self.now.kind == "end":
                self.at += 1
            elif self.now.kind == "define":
                self.at += 1
                name = self.new_name()
                self.constants[name] = self.expression().constant
                self.take(kind="end")
            elif self.maybe("SHARED"):
                self.take("(")
                name = self.new_name()
                self.take(",")
                words = self.expression().constant
                self.take(")")
                self.maybe(";")
                if not words or used + words > SHARED_WORDS:
                    self.refuse("shared memory of 1 to %d words" % SHARED_WORDS)
                self.shared[name] = (used, words)
                used += words
            else:
                self.definition(self.maybe("DEVICE", "KERNEL", "PLAN") or self.refuse("expected a function, a kernel or the plan"))
        if not self.planned:
            raise Refused("there is no plan")
        return "\n".join(["#define SHARED_TOTAL %d" % max(used, 1), "#define SITES_TOTAL %d" % (self.site + 1), *self.lines, ""])


def translate(source):
    """C text of these bytes, for shim.c and gpu.cu; `Refused` where they are not of the language."""
    try:
        return Parser(source.decode("ascii")).file()
    except UnicodeDecodeError as error:
        raise Refused("not plain ASCII text") from error
