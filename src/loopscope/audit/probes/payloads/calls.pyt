_lsp_busy = []


def _lsp_size(value):
    try:
        return value if isinstance(value, int) else len(value)
    except Exception:
        return 0


def _lsp_print(value):
    """A cheap likeness of a value: kind, length and first elements."""
    if hasattr(value, "dtype"):
        return "array", value.shape, str(value.dtype), value.ravel()[:8].tobytes()
    if isinstance(value, (str, bytes, list, tuple)):
        return type(value).__name__, len(value), repr(value[:8])
    return type(value).__name__, repr(value)[:200]


def _lsp_wrap(name, deal):
    """The function of that name is called through `deal(real, args, kwargs)`; calls within a call are left alone."""
    real = globals().get(name)
    if not callable(real) or isinstance(real, type):
        return

    def through(*args, **kwargs):
        if _lsp_busy:
            return real(*args, **kwargs)
        _lsp_busy.append(1)
        try:
            return deal(real, args, kwargs)
        finally:
            _lsp_busy.pop()

    globals()[name] = through


def _lsp_copied(value):
    return value.copy() if hasattr(value, "copy") else value


def _lsp_restore(value, saved):
    try:
        value[:] = saved
    except Exception:
        pass
