def _lsp_step_aside():
    """Let the module that was meant take this one's place."""
    os, sys, place = _lsp_os, _lsp_sys, list(_lsp_sys.path)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in place if os.path.abspath(p or ".") != here]
    mine = sys.modules.pop(__name__, None)
    try:
        sys.modules[__name__] = __import__("importlib").import_module(__name__)
    except ImportError:
        sys.modules[__name__] = mine
    sys.path[:] = place


_lsp_step_aside()
