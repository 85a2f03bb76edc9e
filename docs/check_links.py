"""Whether every link, image and anchor of the built site leads somewhere.

    python docs/check_links.py docs/_build/html

Links to other sites are listed, not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and anchors of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if not value:
                continue
            if name in ("href", "src") and tag != "base":
                self.links.append(value)
            if name in ("id", "name"):
                self.anchors.add(value)


def broken(site: Path) -> list[str]:
    """A line for every link within the site that leads nowhere."""
    pages = {
        path.resolve(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts
    }
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or (link.startswith("#") and len(link) == 1):
                continue
            goal = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if goal.is_dir():
                goal = goal / "index.html"
            anchor = unquote(parts.fragment)
            if not goal.exists() or (
                anchor and goal in pages and anchor not in pages[goal].anchors
            ):
                found.append(f"{path.relative_to(site.resolve())}: {link}")
    return sorted(set(found))


def main() -> int:
    site = Path(sys.argv[1])
    if not (site / "index.html").exists():
        print(f"{site} holds no built site; run make docs.")
        return 1
    lines = broken(site)
    print("\n".join(lines) if lines else "every link leads somewhere")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
