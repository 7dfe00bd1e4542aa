"""What the simulated agent talks about: a home server and the chores of a small business.

The words of claims (effects and causes) never stand in a context (questions, tool results, memory,
hints), and restatements use nearly only words of their context. A test holds both, because they
make "inferred" and "restated" facts of the text and not only of the simulator's notes.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

Item = TypeVar("Item")

ClaimKey = tuple[str, int, int]
"""A claim by its topic's name and the indices of its effect and its cause."""


class Support(StrEnum):
    """How far the context of a turn bears out a claim made in it (spec 3.1)."""

    SUPPORTED = "supported"
    WEAK = "weak"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class Cause:
    """A because-clause and the three notes that would support, hint at or contradict it."""

    clause: str
    supporting: str
    weak: str
    contradicting: str

    def hint(self, support: Support) -> str | None:
        """The note a context holds when a claim of this cause is so supported, if any."""
        if support is Support.SUPPORTED:
            return self.supporting
        if support is Support.WEAK:
            return self.weak
        return self.contradicting if support is Support.CONTRADICTED else None


@dataclass(frozen=True, slots=True)
class Topic:
    """One chore: a question, a tool with its result fields, a memory, and claims to be made."""

    name: str
    category: str
    tool: str
    question: str
    fields: tuple[tuple[str, Sequence[str | int]], ...]
    restatement: str
    memory: str
    effects: tuple[str, str]
    causes: tuple[Cause, Cause, Cause]


def pick(rng: random.Random, pool: Sequence[Item]) -> Item:
    """One item of `pool`, uniformly; several times faster than `Random.choice`."""
    return pool[int(rng.random() * len(pool))]


def draw_fields(rng: random.Random, topic: Topic) -> dict[str, str | int]:
    """A tool result of the topic."""
    return {key: pick(rng, pool) for key, pool in topic.fields}


def claim_text(topic: Topic, effect: int, cause: int) -> str:
    """The sentence that asserts an effect and its supposed cause."""
    clause = topic.effects[effect]
    return f"{clause[0].upper()}{clause[1:]} because {topic.causes[cause].clause}."


TOPICS = (
    Topic(
        "snapshots",
        "causal diagnosis",
        "job_status",
        "What state is job {job} on host {host} in?",
        (
            ("job", ("snapshot", "mirror", "vault")),
            ("host", ("nas2", "nas3", "atlas")),
            ("state", ("stopped", "done", "partial")),
            ("code", range(60)),
            ("files", range(900, 40000)),
            ("seconds", range(40, 4000)),
            ("copies", range(5, 30)),
        ),
        "Job {job} on host {host} has state {state}, code {code}, {files} files, "
        "{seconds} seconds.",
        "Host {host} keeps {copies} copies of job {job}.",
        (
            "the nightly backup probably failed halfway",
            "older archives are likely corrupted already",
        ),
        (
            Cause(
                "the power supply overheated badly",
                "Sensor PSU1 read 91 degrees at 02:10.",
                "Sensor ROOM read 31 degrees at 18:00.",
                "Sensor PSU1 read 38 degrees from 22:00 to 06:00.",
            ),
            Cause(
                "a firmware upgrade confused the controller",
                "Package raid-42 replaced raid-41 at 01:55.",
                "Bulletin 118 lists package raid-42.",
                "Package raid-41 is untouched since 12 May.",
            ),
            Cause(
                "somebody unplugged the cable while cleaning",
                "Port 7 went down at 02:05 and door D3 was open.",
                "Door D3 was open at 17:30.",
                "Port 7 was up and door D3 shut from 20:00 to 08:00.",
            ),
        ),
    ),
    Topic(
        "links",
        "system state",
        "link_probe",
        "What loss and delay has link {link}?",
        (
            ("link", ("wan1", "wan2", "mesh4")),
            ("loss", range(40)),
            ("delay", range(8, 900)),
            ("jitter", range(1, 90)),
            ("probes", range(50, 600)),
            ("limit", range(100, 400)),
        ),
        "Link {link} has loss {loss}, delay {delay}, jitter {jitter} over {probes} probes.",
        "Link {link} has a delay limit of {limit}.",
        (
            "video calls presumably stutter every evening",
            "the provider is likely throttling our traffic",
        ),
        (
            Cause(
                "neighbours crowd the wireless channel",
                "Scan saw 19 networks on band 6.",
                "Scan saw 7 networks on band 36.",
                "Scan saw 1 network on band 6.",
            ),
            Cause(
                "rain soaked the outdoor antenna",
                "Gauge G2 read 34 mm and mast signal fell to 12.",
                "Gauge G2 read 3 mm.",
                "Gauge G2 read 0 mm and mast signal held at 49.",
            ),
            Cause(
                "a stale routing table survived the reboot",
                "Device gw1 came back at 04:12 with 212 old entries.",
                "Device gw1 came back at 04:12.",
                "Device gw1 holds 0 old entries.",
            ),
        ),
    ),
    Topic(
        "invoices",
        "human intent",
        "invoice_lookup",
        "What status has invoice {invoice} to {client}?",
        (
            ("invoice", range(10000, 99999)),
            ("client", ("Alder", "Birch", "Cedar", "Linden")),
            ("status", ("open", "sent", "partial")),
            ("amount", range(120, 9000)),
            ("days", range(1, 90)),
            ("terms", range(14, 60)),
        ),
        "Invoice {invoice} to {client} has status {status}, amount {amount}, {days} days.",
        "Client {client} has terms of {terms} days.",
        (
            "the customer is probably short of cash",
            "their bookkeeper most likely mislaid our paperwork",
        ),
        (
            Cause(
                "a big contract collapsed this spring",
                "Notice 41 reports an order withdrawn from site Nord.",
                "Notice 17 reports a new board.",
                "Notice 52 reports orders at site Nord doubled.",
            ),
            Cause(
                "the founder is quietly selling the firm",
                "Broker Hale asked for books of three years.",
                "Broker Hale sent a newsletter.",
                "Board minutes 8 rule out any takeover.",
            ),
            Cause(
                "approval got stuck during holidays",
                "Absence reply names 4 August to 29 August.",
                "Absence reply names no dates.",
                "Desk 2 answered 9 mails in August.",
            ),
        ),
    ),
    Topic(
        "mail",
        "human intent",
        "mailbox_search",
        "What is unread in thread {thread} from {sender}?",
        (
            ("thread", range(4500, 9900)),
            ("sender", ("Mara", "Jonas", "Petra")),
            ("mails", range(2, 60)),
            ("unread", range(20)),
            ("hour", range(24)),
            ("span", range(2, 72)),
        ),
        "Thread {thread} from sender {sender} has {mails} mails, {unread} unread, hour {hour}.",
        "Sender {sender} answers in a span of {span} hours.",
        (
            "they apparently want to renegotiate the deal",
            "our last proposal seemingly offended someone",
        ),
        (
            Cause(
                "a rival undercut our quote",
                "Thread 4410 attaches offer B at 870.",
                "Thread 4410 mentions offer B.",
                "Thread 4410 says offer B was declined.",
            ),
            Cause(
                "the wording sounded impatient",
                "Thread 4411 says: please stop chasing.",
                "Thread 4411 ends with no greeting.",
                "Thread 4411 says: happy with everything.",
            ),
            Cause(
                "legal advisers urged caution",
                "Thread 4412 copies counsel Brandt twice.",
                "Thread 4412 copies Brandt.",
                "Thread 4412 says no counsel was asked.",
            ),
        ),
    ),
    Topic(
        "stock",
        "forecast",
        "stock_list",
        "What units of item {item} are in bin {bin}?",
        (
            ("item", ("filters", "lamps", "seals", "hinges")),
            ("bin", range(1, 400)),
            ("units", range(900)),
            ("ordered", range(300)),
            ("price", range(3, 240)),
            ("floor", range(10, 90)),
        ),
        "Item {item} has {units} units in bin {bin}, {ordered} ordered at price {price}.",
        "Item {item} has a floor of {floor} units.",
        (
            "demand will probably surge next month",
            "the warehouse figures are likely wrong",
        ),
        (
            Cause(
                "a competitor recently became bankrupt",
                "Gazette 77 lists shop Varga as closed.",
                "Gazette 60 lists shop Varga.",
                "Gazette 80 lists shop Varga with two branches.",
            ),
            Cause(
                "returns were shelved without registration",
                "Crate 12 holds 46 parcels with no barcode.",
                "Crate 12 was moved.",
                "Crate 12 is empty.",
            ),
            Cause(
                "the apprentice typed digits backwards",
                "Badge 9 made 31 edits in 6 minutes.",
                "Badge 9 was in at 09:00.",
                "Badge 9 made 0 edits.",
            ),
        ),
    ),
    Topic(
        "climate",
        "system state",
        "zone_read",
        "What humidity and degrees has zone {zone}?",
        (
            ("zone", ("attic", "cellar", "office")),
            ("degrees", range(4, 41)),
            ("humidity", range(20, 95)),
            ("setpoint", range(12, 25)),
            ("minutes", range(1, 90)),
            ("quiet", range(19, 24)),
        ),
        "Zone {zone} has {degrees} degrees, humidity {humidity}, setpoint {setpoint}, "
        "{minutes} minutes.",
        "Zone {zone} is quiet from hour {quiet}.",
        (
            "the boiler is presumably near breakdown",
            "mould will likely spread behind the panelling",
        ),
        (
            Cause(
                "a thermostatic valve jammed completely",
                "Flow F1 fell from 14 to 3 litres.",
                "Flow F1 read 12 litres.",
                "Flow F1 read 14 litres.",
            ),
            Cause(
                "warm air escapes through cracked insulation",
                "Camera frame 9 marks a gap of 4 cm at the ridge.",
                "Camera frame 7 is blurred.",
                "Camera frame 9 marks no gap.",
            ),
            Cause(
                "sediment clogged the exchanger",
                "Water test 5 found hardness 24.",
                "Water test 5 is pending.",
                "Water test 5 found hardness 3.",
            ),
        ),
    ),
    Topic(
        "sites",
        "causal diagnosis",
        "site_check",
        "What errors and visits has site {site}?",
        (
            ("site", ("shop", "blog", "portal")),
            ("version", range(100, 400)),
            ("visits", range(200, 90000)),
            ("errors", range(900)),
            ("expires", range(1, 90)),
            ("host", ("atlas", "rhea", "nas3")),
        ),
        "Site {site} has version {version}, {visits} visits, {errors} errors, expires {expires}.",
        "Site {site} is on host {host}.",
        (
            "attackers are probably guessing passwords",
            "shoppers most likely abandon their baskets",
        ),
        (
            Cause(
                "credentials leaked through a partner",
                "Feed 3 lists 212 addresses from vendor Orsa.",
                "Feed 3 lists vendor Orsa.",
                "Feed 3 lists 0 addresses.",
            ),
            Cause(
                "a payment plugin crashes on phones",
                "Trace 81 ends in card-js on small screens.",
                "Trace 81 is truncated.",
                "Trace 81 ends clean on small screens.",
            ),
            Cause(
                "a redirect loop appeared after migration",
                "Trace 90 repeats path A for 20 hops.",
                "Trace 90 has path A.",
                "Trace 90 has 1 hop.",
            ),
        ),
    ),
    Topic(
        "deliveries",
        "forecast",
        "parcel_track",
        "What depot has parcel {parcel}?",
        (
            ("parcel", range(100000, 999999)),
            ("depot", ("Graz", "Linz", "Brno")),
            ("weight", range(1, 60)),
            ("stops", range(2, 30)),
            ("due", range(8, 20)),
            ("cutoff", range(12, 22)),
        ),
        "Parcel {parcel} has depot {depot}, weight {weight}, {stops} stops, due {due}.",
        "Depot {depot} has a cutoff of {cutoff}.",
        (
            "the courier has probably misrouted our shipment",
            "the Friday handover will likely slip",
        ),
        (
            Cause(
                "customs questioned the declaration",
                "Form 22 came back with stamp K.",
                "Form 22 was filed.",
                "Form 22 was cleared.",
            ),
            Cause(
                "striking drivers blocked the motorway",
                "Radio 2 reports route A9 closed for lorries.",
                "Radio 2 reports fog on route A9.",
                "Radio 2 reports route A9 free.",
            ),
            Cause(
                "two boxes swapped stickers",
                "Photo 6 has code K7 on the lid of order 31.",
                "Photo 6 is dark.",
                "Photo 6 matches order 31.",
            ),
        ),
    ),
)
