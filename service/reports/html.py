"""The report as one page that needs nothing else: no script, no font, no request."""

import base64
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from service.reports.presentation import SPARK_HEIGHT, SPARK_WIDTH, ShownReport

_TEMPLATE = "weekly.html.j2"
_STYLE = "weekly.css"


@dataclass(frozen=True, slots=True)
class Links:
    """Where the page stands: the path prefix of the API, and the weeks beside this one."""

    root: str
    previous: str | None
    following: str | None


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("service.reports"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


@lru_cache(maxsize=1)
def _style() -> str:
    return (files("service.reports") / "templates" / _STYLE).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def content_security_policy() -> str:
    """Nothing may be loaded or run; the one style sheet is named by its hash."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def as_html(report: ShownReport, links: Links | None = None) -> str:
    """The whole page; without links it stands alone, as a file or in a mail."""
    template = _environment().get_template(_TEMPLATE)
    return template.render(
        report=report,
        links=links,
        # Our own file, and no part of it is told by anybody.
        style=Markup(_style()),  # noqa: S704
        width=SPARK_WIDTH,
        height=SPARK_HEIGHT,
        query=urlencode({"agent": report.agent}),
    )
