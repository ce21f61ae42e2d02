_lsp_calls = [0, 0]


def _lsp_scout():
    """Write down how the program was called, what it printed, and what it could have read."""
    os, sys, said = _lsp_os, _lsp_sys, []

    class Tee:
        def __init__(self, stream):
            self._lsp_stream = stream

        def write(self, text):
            if sum(map(len, said)) < 8192:
                said.append(text)
            return self._lsp_stream.write(text)

        def __getattr__(self, name):
            return getattr(self._lsp_stream, name)

    def tell():
        _lsp_append("calls %s %d %d\n" % (_lsp_self(), _lsp_calls[0], _lsp_calls[1]))
        _lsp_append("run %s %s\n" % (_lsp_self(), "".join(said)[:8192].encode().hex()))

    seen = ("/tests/test.sh", "/solution/solve.sh")
    _lsp_append("see tests:%d solution:%d\n" % tuple(os.access(p, os.R_OK) for p in seen))
    sys.stdout = Tee(sys.stdout)
    __import__("atexit").register(tell)


try:
    if _lsp_os.access("/logs/verifier", _lsp_os.W_OK):
        _lsp_scout()
except Exception:
    pass
