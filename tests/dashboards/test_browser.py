"""In a real browser: no complaint, no violation of the policy, nothing wider than a telephone."""

import json
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from html import escape
from pathlib import Path

import httpx
import pytest

from dashboards.rendering import CONTENT_SECURITY_POLICY
from tests.dashboards.record import send_events, send_turns
from tests.service.factories import a_key

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--v=0",
    "--virtual-time-budget=3000",
)
LONG = "a-name-that-is-long-and-never-ends-" * 6
# A window cannot be made as narrow as a telephone; a frame can, and it is a viewport of its own.
MEASURE = """<!DOCTYPE html><body><iframe width="{width}" height="900" frameborder="0"
srcdoc="{page}" onload="measure(this.contentWindow)"></iframe><script>
function measure(view) {{
  const root = view.document.documentElement;
  document.body.textContent = "measured" + JSON.stringify({{
    window: view.innerWidth, page: root.scrollWidth,
    paper: view.getComputedStyle(view.document.body).backgroundColor,
  }}) + "measured";
}}
</script></body>"""


class Browser:
    """A browser with a new profile for each page."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder

    def run(self, *arguments: str) -> tuple[str, list[str]]:
        """What it printed, and what the page's console says."""
        profile = self._folder / "profile"
        done = subprocess.run(
            [self._program, *FLAGS, f"--user-data-dir={profile}", *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        shutil.rmtree(profile, ignore_errors=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    def measure(self, html: str, sheet: str, width: int, *flags: str) -> dict[str, object]:
        """Measures a copy of a page, for the page itself lets no script in."""
        inline = re.sub(r'<link rel="stylesheet"[^>]*>', lambda _: f"<style>{sheet}</style>", html)
        copy = self._folder / "copy.html"
        copy.write_text(MEASURE.format(width=width, page=escape(inline)))
        dom, _ = self.run("--dump-dom", *flags, copy.as_uri())
        found: dict[str, object] = json.loads(dom.split("measured")[1])
        return found


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser here: none of {', '.join(BROWSERS)} is on PATH")
    return Browser(found, tmp_path)


def _nothing(_client: httpx.Client) -> str:
    return "/?refresh=off"


def _data(client: httpx.Client) -> str:
    send_turns(client, "piper", "t1", "t2")
    send_turns(client, LONG, "t1")
    send_events(client, "<script>document.title = 'owned'</script>", turn_id="t9")
    return "/"


def _description(_client: httpx.Client) -> str:
    return "/docs"


def _refusal(client: httpx.Client) -> str:
    a_key(client, "operate")
    return "/"


every_page = pytest.mark.parametrize("prepare", [_nothing, _data, _description, _refusal])
Prepare = Callable[[httpx.Client], str]


def test_a_broken_policy_would_be_seen(browser: Browser, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    policy = CONTENT_SECURITY_POLICY.replace("frame-ancestors 'none'; ", "")
    broken.write_text(
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><b style="color:red">x</b>'
    )
    _, complaints = browser.run("--dump-dom", broken.as_uri())
    assert any("Content Security Policy" in line for line in complaints)


@every_page
def test_a_browser_shows_each_page_without_complaint(
    browser: Browser, client: httpx.Client, prepare: Prepare, request: pytest.FixtureRequest
) -> None:
    path = prepare(client)
    dom, complaints = browser.run("--dump-dom", f"{str(client.base_url).rstrip('/')}{path}")
    # A refusal is no fault of the page, but the browser remarks on its status.
    assert [line for line in complaints if "status of 401" not in line] == []
    assert "<h1>" in dom
    assert "<title>owned" not in dom


@every_page
@pytest.mark.parametrize("width", [360, 1100, 2560])
def test_no_page_is_wider_than_its_window(
    browser: Browser, client: httpx.Client, prepare: Prepare, width: int
) -> None:
    html = client.get(prepare(client)).text
    sheet = client.get("/static/doxa.css").text
    found = browser.measure(html, sheet, width)
    assert (found["window"], found["page"]) == (width, width)


@pytest.mark.parametrize(("scheme", "paper"), [(1, "rgb(252, 252, 250)"), (0, "rgb(21, 23, 26)")])
def test_the_page_follows_the_colours_that_the_reader_prefers(
    browser: Browser, client: httpx.Client, scheme: int, paper: str
) -> None:
    sheet = client.get("/static/doxa.css").text
    flag = f"--blink-settings=preferredColorScheme={scheme}"
    assert browser.measure(client.get("/").text, sheet, 1400, flag)["paper"] == paper


def test_a_telephone_gets_a_picture_of_its_own_width(
    browser: Browser, client: httpx.Client, tmp_path: Path
) -> None:
    picture = tmp_path / "page.png"
    address = f"{str(client.base_url).rstrip('/')}{_data(client)}"
    browser.run(f"--screenshot={picture}", "--window-size=360,1200", address)
    assert struct.unpack(">II", picture.read_bytes()[16:24]) == (360, 1200)
