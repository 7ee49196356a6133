"""Every link of a built site leads somewhere in it, every id is there once, and nothing is asked of the network.

links_check.py SITE_FOLDER: prints what is wrong, exit status 1 if anything is.
"""

import html.parser
import os
import sys
import urllib.parse

# What a browser would load by itself; a link (a) is followed by its reader.
LOADS = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("object", "data"), ("video", "src"),
         ("audio", "src"), ("source", "src"), ("embed", "src"), ("form", "action"), ("use", "href"), ("base", "href")}
SCHEMES = ("https", "http", "mailto")  # that a link may lead out by


class Page(html.parser.HTMLParser):
    """The ids and links of one page."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.loads, self.wrong = [], [], [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif name.startswith("on") or name == "style":
                self.wrong.append("<%s %s=%r>" % (tag, name, value))
            elif (tag, name) in LOADS:
                self.loads.append(value)
            elif name == "href":
                self.links.append(value)
        if tag in ("iframe", "object", "embed", "base"):
            self.wrong.append("<%s>" % tag)
        # Whatever runs is the site's one script, or data.
        if tag == "script" and dict(attrs).get("type") != "application/json" and "src" not in dict(attrs):
            self.wrong.append("an inline script")


def parse(path):
    page = Page()
    with open(path, encoding="utf-8", errors="strict") as file:
        page.feed(file.read())
    page.close()
    return page


def check(folder):
    """The complaints about the site in `folder`, as "page: complaint"."""
    paths = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names]
    pages = {os.path.realpath(path): parse(path) for path in paths if path.endswith(".html")}
    inside = {os.path.realpath(path) for path in paths}
    complaints = []
    for path, page in sorted(pages.items()):
        def complain(text):
            complaints.append(os.path.relpath(path, folder) + ": " + text)
        for wrong in page.wrong:
            complain("has " + wrong)
        for name in sorted({name for name in page.ids if page.ids.count(name) > 1}):
            complain("id %r is there %d times" % (name, page.ids.count(name)))
        for target in page.loads:
            if urllib.parse.urlsplit(target).scheme or target.startswith("//"):
                complain("loads " + target)
        for target in page.links + page.loads:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme in SCHEMES and not target.startswith("//"):
                continue
            if parts.scheme or parts.netloc:
                complain("links to " + target)
                continue
            file = os.path.realpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            if file not in inside:
                complain("%s is not there" % target)
            elif parts.fragment and urllib.parse.unquote(parts.fragment) not in pages[file].ids:
                complain("%s has no such anchor" % target)
    return complaints, len(pages), sum(len(page.links) for page in pages.values())


if __name__ == "__main__":
    found, pages, links = check(sys.argv[1])
    for complaint in found:
        print(complaint)
    print("%d pages, %d links, %d wrong" % (pages, links, len(found)))
    sys.exit(1 if found or not pages else 0)
