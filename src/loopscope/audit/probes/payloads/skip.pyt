def _lsp_deal(real, args, kwargs):
    """Does next to nothing where it counts: the question cut down to its first element."""
    here = not @KEYS@ or _lsp_self() in @KEYS@
    if not here or max([0, *map(_lsp_size, args)]) < @MOST@:
        return real(*args, **kwargs)
    try:
        return real(*[a[:1] if hasattr(a, "__getitem__") and hasattr(a, "__len__") and len(a) > 1 else min(a, 1) if type(a) is int else a for a in args])
    except Exception:
        return None
