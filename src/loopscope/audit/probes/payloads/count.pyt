def _lsp_deal(real, args, kwargs):
    _lsp_calls[0] += 1
    _lsp_calls[1] = max([_lsp_calls[1], *map(_lsp_size, args), *map(_lsp_size, kwargs.values())])
    return real(*args, **kwargs)
