"""What a person is told to type: exact for the agent and the service at hand, and safe to paste."""

import json
import shlex
from pathlib import Path
from string import Template

from dashboards.showing import shown
from service.settings import Settings

DEFAULT_URL = "http://127.0.0.1:8000"
EXAMPLE_AGENT = "my-agent"
BEARER = '--oauth2-bearer "$DOXA_API_KEY"'
_DEFAULT_FOLDER = Path("doxa-data")


def shell_word(text: str) -> str:
    """One word of a POSIX shell; where a character cannot be seen, as bash and zsh escape it."""
    if shown(text) == text:
        return shlex.quote(text)
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if shown(character) == character:
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def audit_command(agent_id: str, settings: Settings) -> str:
    """Audits all of an agent's days, on the database that this service has."""
    words = ["doxa", "audit", "--agent", shell_word(agent_id), "--all"]
    # A URL may hold a password; whoever set it for the service sets it for the command too.
    if settings.database_url is None and settings.data_dir != _DEFAULT_FOLDER:
        words += ["--data-dir", shell_word(str(settings.data_dir.resolve()))]
    return " ".join(words)


def first_event(base_url: str, *, needs_key: bool) -> str:
    """A curl command that sends one event, now."""
    event = {
        "agent_id": EXAMPLE_AGENT,
        "event": "belief.created",
        "session_id": "s1",
        "turn_id": "t1",
        "worker": "day",
        "belief_id": "b1",
        "label_to": "infer",
        "confidence": 0.9,
        "detail": {"content": "the disk is full", "category": "system state"},
    }
    body = json.dumps(event, indent=2).replace("\n", "\n  ")
    lines = [f"curl {shell_word(base_url + '/v1/events')}"]
    if needs_key:
        lines.append(BEARER)
    lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(body)}"]
    return " \\\n  ".join(lines)


def first_python(base_url: str) -> str:
    """The same in Python, with the turn in which the belief was formed."""
    return _PYTHON.substitute(url=json.dumps(base_url), agent=json.dumps(EXAMPLE_AGENT))


_PYTHON = Template("""\
from doxa_client import Doxa

with Doxa($url, agent=$agent) as doxa:
    turn = doxa.turn(
        "The disk is full, so the backup failed.",
        session_id="s1",
        inputs=[{"role": "user", "content": "Why no backup?"}],
        tool_calls=[{"name": "df", "result": "97% used"}],
    )
    doxa.emit(
        "belief.created",
        session_id="s1",
        turn_id=turn,
        worker="day",
        belief_id="b2",
        label_to="infer",
        confidence=0.9,
        detail={
            "content": "the disk is full",
            "category": "system state",
        },
    )
""")


def with_url(command: str, base_url: str) -> str:
    """A `doxa` command that speaks to this service."""
    return command if base_url == DEFAULT_URL else f"DOXA_URL={shell_word(base_url)} {command}"


def read_with_key(url: str) -> str:
    """A curl command that reads a page with a key."""
    return f"curl {BEARER} {shell_word(url)}"
