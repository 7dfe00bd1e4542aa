"""Reading pages as a strict reader does: every tag closed, every address found."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "hr", "input", "wbr"}
ADDRESSES = {"href", "src", "action", "formaction", "srcset", "poster", "data", "cite"}


@dataclass
class Page:
    """What stands in a page."""

    title: str = ""
    text: str = ""
    addresses: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str]] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    times: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def rows(self) -> list[str]:
        """The text of each row of the table, its white space folded."""
        return [" ".join(row.split()) for row in self.text.split("\f")[1:]]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.tags.append(tag)
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.page.problems.append(f"an attribute stands twice in <{tag}>")
        given = {name: value or "" for name, value in attrs}
        self.page.attributes += given.items()
        self.page.addresses += [value for name, value in given.items() if name in ADDRESSES]
        if "id" in given:
            self.page.ids.append(given["id"])
        if tag == "time":
            self.page.times.append((given["datetime"], given["title"]))
        if tag == "code":
            self.page.codes.append("")
        if tag == "tr":
            self.page.text += "\f"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.page.problems.append(f"</{tag}> closes {self.open[-1:]} at {self.getpos()}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.page.text += data + " "
        if "title" in self.open and "svg" not in self.open:
            self.page.title += data
        if "code" in self.open:
            self.page.codes[-1] += data


def read(html: str) -> Page:
    """The page; what is wrong with its tags or ids stands in `problems`."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    page = reader.page
    page.problems += [f"<{tag}> is never closed" for tag in reader.open]
    page.problems += [
        f"id {name!r} stands twice" for name in {*page.ids} if page.ids.count(name) > 1
    ]
    anchors = {address[1:] for address in page.addresses if address.startswith("#")}
    page.problems += [f"#{anchor} leads nowhere" for anchor in anchors - {*page.ids}]
    return page
