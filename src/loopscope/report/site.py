"""Write the whole site: pages from templates, assets once, the old site replaced only by a finished one."""

from __future__ import annotations

import shutil
from functools import cache
from importlib import resources
from pathlib import Path

import jinja2
import vl_convert

from loopscope.records import publish, scratch_name
from loopscope.report import format as fmt
from loopscope.report.errors import ReportError
from loopscope.report.glossary import DIAGNOSTICS, GROUPS, OUTCOME, PROCESS, WORDS
from loopscope.report.inputs import StudyInputs
from loopscope.report.pages.overview import overview
from loopscope.report.pages.run import run_page
from loopscope.report.pages.runs import run_href, run_lines
from loopscope.report.text import breakable, one_line, visible

_ASSETS = ("app.css", "app.js", "icon.svg")
_MARKER = "loopscope-report"
"""Written into each site, so that a later build knows the folder for its own before it replaces it."""
EXPORT_WIDTH = 760


def build_report(study_dir: Path, out: Path | None = None) -> Path:
    """Write the static site of a study; it opens from a file, offline. Equal inputs give equal bytes.

    Args:
        study_dir: a study with `tables/`.
        out: folder of the site; default `STUDY/report`. A folder that holds anything else than a report is refused.

    Returns:
        Path of `index.html`.

    Raises:
        ReportError: a table is missing or broken, or `out` is not ours to replace; names the file and the remedy.
    """
    target = (out or study_dir / "report").absolute()
    inputs = StudyInputs(study_dir.absolute())
    _check_target(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = scratch_name(target)
        scratch.mkdir()
    except OSError as error:
        raise ReportError(f"{target}: cannot be written ({error.strerror}); choose another folder") from None
    try:
        _write(inputs, scratch, target)
        publish(scratch, target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return target / "index.html"


def _check_target(target: Path) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise ReportError(f"{target}: is no folder; choose another place for the report")
    if target.is_dir() and any(target.iterdir()) and not (target / f".{_MARKER}").is_file():
        raise ReportError(f"{target}: holds something else than a report; choose an empty or new folder")


def _write(inputs: StudyInputs, folder: Path, target: Path) -> None:
    _assets(folder / "assets")
    (folder / f".{_MARKER}").write_text("1\n")
    env = _environment()
    first = overview(inputs)
    (folder / "figures").mkdir()
    for figure in first.figures:
        (folder / "figures" / f"{figure.name}.svg").write_text(figure.svg(EXPORT_WIDTH), "utf-8")
    common = {"study": inputs.study, "inputs": inputs, "root": ""}
    _page(env, "index.html", folder / "index.html", page=first, here="overview", **common)
    _page(env, "runs.html", folder / "runs.html", lines=run_lines(inputs), here="runs", **common)
    glossary = {"outcome": OUTCOME, "process": PROCESS, "diagnostics": DIAGNOSTICS, "groups": GROUPS, "words": WORDS}
    _page(env, "definitions.html", folder / "definitions.html", here="definitions", **glossary, **common)
    (folder / "runs").mkdir()
    for index, run in enumerate(inputs.runs):
        page = run_page(inputs, index, target / "runs")
        place = folder / "runs" / Path(run_href(run.run_id)).name
        _page(env, "run.html", place, page=page, here="", **{**common, "root": "../"})


def _page(env: jinja2.Environment, template: str, path: Path, **values: object) -> None:
    text = env.get_template(template).render(**values)
    path.write_bytes(text.encode("utf-8", "replace"))


@cache
def _environment() -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("loopscope.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters |= {"one_line": one_line, "visible": visible, "breakable": breakable, "score": fmt.score}
    env.globals["plural"] = fmt.plural
    return env


@cache
def _vega() -> bytes:
    # A function around it keeps the bundle's hundreds of names out of the page's scope.
    return f"(()=>{{{vl_convert.javascript_bundle('window.vegaEmbed = vegaEmbed;')}}})();\n".encode()


def _assets(folder: Path) -> None:
    folder.mkdir()
    source = resources.files("loopscope.report") / "assets"
    for name in _ASSETS:
        (folder / name).write_bytes((source / name).read_bytes())
    (folder / "vega.js").write_bytes(_vega())
