"""Pages carry a strict policy, load nothing from elsewhere and let no agent write into them."""

import re
from collections import Counter
from importlib.resources import files
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlalchemy import insert

from service.db.database import Database
from service.models import Agent, CogEvent
from tests.dashboards.reading import Page, read
from tests.dashboards.record import send_events, send_turns
from tests.service.factories import NOW

SENDABLE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</bdi></th></tr></table><h1>owned",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "safe\u202egnp.exe",
    "\u2067\u2066mixed",
    "\x9b31mred",
    "y" * 200,
    "a/b?c=d&agent=other#e",
    "عميل",
]
# What the API refuses in an id may still stand in a database that others wrote to.
UNSENDABLE = ["\x1b[31mred\x1b[0m", "line\nbreak\x07"]
PAGES = ["/", "/docs"]


def store_agent(database: Database, agent: str) -> None:
    with database.write() as session:
        session.execute(insert(Agent).values(agent_id=agent, created_at=0, time_zone="UTC"))
        session.execute(
            insert(CogEvent).values(
                agent_id=agent, log="agent", seq=1, event_id="e", ts=NOW, received_at=NOW,
                event="x.note",
            )
        )  # fmt: skip


def page_at(client: httpx.Client, path: str) -> Page:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    page = read(answer.text)
    assert page.problems == []
    return page


@pytest.mark.parametrize("agent", SENDABLE)
def test_an_id_stays_text_whatever_stands_in_it(client: httpx.Client, agent: str) -> None:
    send_turns(client, "piper", "t1")
    harmless = page_at(client, "/")
    send_turns(client, agent, "t1")
    page = page_at(client, "/")
    # The same tags once more, for one more row, and none beside them.
    again = Counter(page.tags) - Counter(harmless.tags)
    assert set(again) <= set(harmless.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not [a for a in page.addresses if not a.startswith(("/", "#"))]
    assert "49" not in page.text.partition("piper")[0]


@pytest.mark.parametrize("agent", SENDABLE)
def test_links_carry_an_id_letter_by_letter(client: httpx.Client, agent: str) -> None:
    send_events(client, agent)
    links = [link for link in page_at(client, "/").addresses if "agent=" in link]
    assert len(links) == 2
    assert all(parse_qs(urlsplit(link).query) == {"agent": [agent]} for link in links)
    assert all(urlsplit(link).fragment == "" for link in links)


@pytest.mark.parametrize("agent", UNSENDABLE)
def test_controls_are_shown_and_not_sent_to_a_screen(
    client: httpx.Client, database: Database, agent: str
) -> None:
    store_agent(database, agent)
    text = client.get("/").text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert "␛[31mred␛[0m" in text or "line␊break␇" in text


@pytest.mark.parametrize("path", [*PAGES, "/nothing", "/static/doxa.css"])
def test_pages_allow_no_script_and_nothing_from_elsewhere(client: httpx.Client, path: str) -> None:
    headers = client.get(path).headers
    if path == "/nothing":
        assert headers["content-type"] == "application/problem+json"
        return
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("agents", [(), ("piper",)])
def test_pages_name_nothing_outside_and_hold_no_script_or_style(
    client: httpx.Client, path: str, agents: tuple[str, ...]
) -> None:
    for agent in agents:
        send_turns(client, agent, "t1")
    page = page_at(client, path)
    assert not [a for a in page.addresses if not a.startswith(("/", "#")) or a.startswith("//")]
    assert {"script", "style", "iframe", "object", "embed"}.isdisjoint(page.tags)
    names = {name for name, _ in page.attributes}
    assert "style" not in names
    assert not [name for name in names if name.startswith("on")]


def test_the_stylesheet_names_nothing_outside() -> None:
    css = files("dashboards").joinpath("static", "doxa.css").read_text()
    assert not re.search(r"url\(|@import|@font-face|https?:", css)


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_a_page_is_not_kept_by_caches_and_its_stylesheet_is(
    client: httpx.Client, path: str
) -> None:
    assert client.get(path).headers["cache-control"] == "no-store"
    page = page_at(client, path)
    sheet = next(a for a in page.addresses if "doxa.css" in a)
    answer = client.get(sheet)
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    assert client.get("/static/doxa.css?v=old").headers["cache-control"] == "no-cache"
    icon = next(a for a in page.addresses if "doxa.svg" in a)
    assert client.get(icon).headers["content-type"] == "image/svg+xml"
