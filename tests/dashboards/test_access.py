"""Who sees the pages, and what those see who do not."""

from collections.abc import Iterator

import httpx
import pytest

from service.settings import Settings
from tests.dashboards.conftest import Serve
from tests.dashboards.reading import read
from tests.dashboards.record import send_events
from tests.service.factories import a_key


@pytest.fixture
def operate(client: httpx.Client) -> dict[str, str]:
    return a_key(client, "operate")


def test_with_keys_a_browser_is_told_how_to_send_one(
    client: httpx.Client, operate: dict[str, str]
) -> None:
    answer = client.get("/")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = read(answer.text)
    assert page.problems == []
    assert f'curl --oauth2-bearer "$DOXA_API_KEY" {client.base_url}' in " ".join(page.codes)
    assert "no sign-in for browsers yet" in page.text


@pytest.mark.parametrize(
    "accept", ["*/*", "application/json", "text/html;q=0, */*", "text/html; q=0.0"]
)
def test_a_client_that_takes_no_html_is_told_as_everywhere(
    client: httpx.Client, operate: dict[str, str], accept: str
) -> None:
    answer = client.get("/", headers={"Accept": accept})
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("accept", ["text/html", "TEXT/HTML;q=0.9", "application/xhtml+xml, a/b"])
def test_a_browser_is_known_by_what_it_takes(
    client: httpx.Client, operate: dict[str, str], accept: str
) -> None:
    answer = client.get("/", headers={"Accept": accept})
    assert answer.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    ("scope", "agent", "status"),
    [("read", None, 200), ("audit", None, 200), ("operate", None, 200), ("write", "piper", 403)],
)
def test_every_key_but_an_agents_own_opens_the_start_page(
    client: httpx.Client, operate: dict[str, str], scope: str, agent: str | None, status: int
) -> None:
    key = a_key(client, scope, agent, **operate)
    answer = client.get("/", headers=key)
    assert answer.status_code == status
    assert read(answer.text).problems == []


def test_a_wrong_key_is_refused_and_not_repeated(
    client: httpx.Client, operate: dict[str, str]
) -> None:
    answer = client.get("/", headers={"Authorization": "Bearer doxa_read_wrong"})
    assert answer.status_code == 401
    assert "doxa_read_wrong" not in answer.text


def test_with_keys_the_first_commands_send_one(
    client: httpx.Client, operate: dict[str, str]
) -> None:
    page = read(client.get("/", headers=operate).text)
    told = next(code for code in page.codes if code.startswith("curl "))
    assert '--oauth2-bearer "$DOXA_API_KEY"' in told


@pytest.mark.parametrize("path", ["/docs", "/static/doxa.css"])
def test_what_says_nothing_of_the_record_needs_no_key(
    client: httpx.Client, operate: dict[str, str], path: str
) -> None:
    assert client.get(path).status_code == 200


def test_without_keys_a_foreign_name_sees_a_refusal_and_no_agent(client: httpx.Client) -> None:
    send_events(client, "piper")
    answer = client.get("/", headers={"Host": "evil.example"})
    assert answer.status_code == 403
    assert "piper" not in answer.text
    assert read(answer.text).title.startswith("This key does not allow that")


@pytest.fixture
def prefixed(serve: Serve, settings: Settings) -> Iterator[httpx.Client]:
    with serve(Settings(**settings.model_dump() | {"root_path": "/doxa"})) as client:
        yield client


def test_under_a_prefix_every_address_of_a_page_leads_somewhere(prefixed: httpx.Client) -> None:
    empty = read(prefixed.get("/").text)
    assert f"curl {prefixed.base_url}v1/events" in " ".join(empty.codes)
    send_events(prefixed, "piper")
    for path in ("/", "/docs"):
        page = read(prefixed.get(path).text)
        own = {a for a in page.addresses if not a.startswith("#")}
        assert own
        assert all(address.startswith("/doxa/") for address in own)
        for address in own:
            answer = prefixed.get(httpx.URL(str(prefixed.base_url)).join(address))
            assert answer.status_code == 200, address


def test_a_prefix_without_its_slash_finds_the_start_page(prefixed: httpx.Client) -> None:
    url = str(prefixed.base_url).rstrip("/")
    answer = httpx.get(url, follow_redirects=True, trust_env=False)
    assert answer.status_code == 200
    assert "No agent has sent anything yet" in answer.text


@pytest.mark.parametrize("path", ["/doxa/", "/"])
def test_addresses_bear_the_prefix_whether_or_not_the_proxy_takes_it_off(
    prefixed: httpx.Client, path: str
) -> None:
    a_key(prefixed, "operate")
    server = str(prefixed.base_url).removesuffix("/doxa/")
    page = read(prefixed.get(f"{server}{path}?refresh=off").text)
    assert f"'{server}/doxa/?refresh=off'" in " ".join(page.codes)
    assert any(address.startswith("/doxa/static/doxa.css") for address in page.addresses)
