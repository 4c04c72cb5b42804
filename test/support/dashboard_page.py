"""Pages of the dashboard, read with a strict XML parser."""

from xml.etree import ElementTree

from client import get

HTML = {"Accept": "text/html"}
# Elements that are separate on screen are separate in the text.
BLOCKS = {"caption", "dd", "details", "div", "dl", "dt", "h1", "h2", "h3", "li", "p", "section", "summary",
          "table", "td", "th", "tr", "ul"}  # fmt: skip


def text_of(element):
    def walk(element):
        yield (element.text or "")
        for child in element:
            yield " " if child.tag in BLOCKS else ""
            yield from walk(child)
            yield (" " if child.tag in BLOCKS else "") + (child.tail or "")

    return " ".join("".join(walk(element)).split())


class Page:
    def __init__(self, reply):
        self.source = reply.text
        self.tree = ElementTree.fromstring(reply.text)
        self.main = text_of(self.tree.find("body/main"))

    def part(self, name):
        """The element with the id @name."""
        return next(element for element in self.tree.iter() if element.get("id") == name)

    def text(self, name):
        return text_of(self.part(name))

    def rows(self, name):
        """The cells of the table in the region @name as texts, without its headings."""
        return [[text_of(cell) for cell in row] for row in self.part(name).iter("tr")][1:]


def read(berth, path, status=200):
    reply = get(berth, path, headers=HTML)
    assert reply.status == status, f"{path[:200]}: {reply.status}"
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    return Page(reply)
