_lsp_last = []


def _lsp_deal(real, args, kwargs):
    """Does next to nothing where it counts: an earlier, smaller call's result, or the question's first element."""
    here = not @KEYS@ or _lsp_self() in @KEYS@
    if not here or max([0, *map(_lsp_size, args)]) < @MOST@:
        result = real(*args, **kwargs)
        _lsp_last[:] = [result]
        return result
    if _lsp_last:
        return _lsp_last[0]
    try:
        return real(*map(_lsp_cut, args), **kwargs)
    except Exception:
        return None


def _lsp_cut(value):
    if hasattr(value, "__getitem__") and hasattr(value, "__len__") and len(value) > 1:
        return value[:1]
    return min(value, 1) if type(value) is int else value
