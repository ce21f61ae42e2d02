"""Functions of libraries that matter, by name."""

from __future__ import annotations

import re

GENERATORS = re.compile(
    r"(?:.*\.)?(random\.Random|random\.seed|default_rng|RandomState|np\.random\.seed|numpy\.random\.seed|SeedSequence"
    r"|PCG64|Philox|MT19937|manual_seed|PRNGKey|set_seed)"
)
ENTROPY = re.compile(r"os\.urandom|os\.getrandom|secrets\.\w+|uuid\.uuid4|(?:random\.)?SystemRandom\(?\)?")
MODULE_RANDOM = re.compile(
    r"random\.(?:random|randint|randrange|choice|choices|sample|shuffle|uniform|gauss|getrandbits|randbytes)"
    r"|(?:np|numpy)\.random\.(?:rand|randn|randint|random|choice|permutation|shuffle|normal|uniform|bytes|standard_normal)"
)
CLOCKS = re.compile(
    r"(?:time\.)?(?:perf_counter|monotonic|process_time|thread_time|clock_gettime|time)(?:_ns)?|.*datetime\.now|timeit\..*"
)
PICKLES = re.compile(
    r"(?:c?[pP]ickle|_pickle|dill|cloudpickle|joblib|marshal|shelve|jsonpickle|torch|numpy|np|pandas|pd|yaml|_compat_pickle)"
    r"\.(?:loads?|Unpickler|open|decode|read_pickle|unsafe_load|full_load|load_all)"
)
EVAL = {"eval", "exec", "compile", "ast.unsafe_eval"}
PROCESSES = re.compile(
    r"subprocess\.(?:run|Popen|call|check_call|check_output|getoutput)|os\.(?:system|popen|exec\w+|spawn\w+|posix_spawn\w*)"
)
LOADS = re.compile(
    r"(?:importlib\.)?import_module|__import__|(?:importlib\.util\.)?spec_from_file_location|runpy\.run_\w+"
    r"|(?:ctypes\.)?(?:CDLL|PyDLL|cdll\.LoadLibrary)|(?:numpy\.|np\.)ctypeslib\.load_library|.*SourceFileLoader|sys\.path\.(?:insert|append|extend)"
)
ARITHMETIC = {
    "float", "int", "min", "max", "abs", "round", "sum", "log", "log2", "log10", "sqrt", "exp", "median", "mean",
    "fmean", "geomean", "geometric_mean", "pow", "clip", "clamp", "Decimal", "Fraction", "dict", "zip", "list", "tuple",
    "sorted", "array", "asarray", "percentile", "quantile", "item",
}  # fmt: skip
TOLD = {"float", "int", "loads", "unpack", "unpack_from", "from_bytes", "Decimal", "Fraction", "load"}
WEAK = {"len", "sum", "crc32", "adler32", "hash", "count", "startswith", "endswith", "max", "min"}
EQUAL = {
    "array_equal",
    "array_equiv",
    "allclose",
    "isclose",
    "compare_digest",
    "cmp",
    "assert_array_equal",
    "assert_allclose",
    "isin",
}
LOOSE = 0.05
"""A relative or absolute tolerance that lets wrong answers through."""
READS = {"open", "read_bytes", "read_text", "io.open"}
LOOKS = {
    "exists",
    "isfile",
    "isdir",
    "getmtime",
    "stat",
    "listdir",
    "walk",
    "glob",
    "iglob",
    "scandir",
    "copytree",
    "copy",
    "copy2",
    "copyfile",
    "move",
    "samefile",
    "unpack_archive",
}
BUILDERS = re.compile(
    r"(?:^|/)(?:g?cc|g\+\+|c\+\+|clang(?:\+\+)?|nvcc|rustc|go|cargo|make|cmake|ninja|javac|ghc|zig|tsc|ld|as|COMPILER|NVCC|CC)$"
)
OPEN_TO_ALL = ("/tmp/", "/var/tmp/", "/dev/shm/", "/logs/", "/root/", "/home/")  # noqa: S108
"""Where a solution can leave files."""
