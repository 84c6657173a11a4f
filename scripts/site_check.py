"""Looks at build/site as its readers do: links, windows of a desk and a phone, light and dark, and the search. For scripts/site."""

import html
import json
import re
import subprocess
from pathlib import Path

WINDOWS = ((1280, 800), (390, 844))
FIRST = [".hero p", ".picture svg", "pre.line"]  # what the first screen shows: a sentence, a picture and a line to type
SEARCHES = {"--apply": "clipper-statistics.7", "float16": "clipper-bounds.7", "percentile": "clipper-statistics.7"}
# Writes into the title how wide the page is, and where the first things end.
PROBE = f"""<script>addEventListener("load", () => document.title = JSON.stringify([document.documentElement.scrollWidth,
{FIRST}.map(each => document.querySelector(each)?.getBoundingClientRect().bottom)]))</script>"""
LOADS = re.compile(r"""<(?:script|img|iframe|source)[^>]*\s(?:src|srcset)="https?:[^"]*|<link(?![^>]*canonical)[^>]*href="https?:[^"]*"""
                   r"""|(?:@import|url\()\s*["']?https?:[^)"']*|(?:fetch|import|open|sendBeacon)\(\s*["'`]https?:[^"'`]*""")


def broken_links(site: Path) -> list[str]:
    """Links that lead nowhere, and what a page would load from another host."""
    texts = {path.name: path.read_text() for path in site.glob("*.html")}
    broken = []
    for name, text in texts.items():
        for target in re.findall(r'(?:href|src)="(?!https?:)([^"]*)"', text):
            file, _, fragment = html.unescape(target).split("?")[0].partition("#")
            if file and not (site / file).exists():
                broken.append(f"{name}: {target} does not exist")
            elif fragment and (file or name) in texts and f'id="{fragment}"' not in texts[file or name]:
                broken.append(f"{name}: {target} is no place of the page")
    for path in site.rglob("*"):
        if path.suffix in (".html", ".css", ".js"):
            broken += [f"{path.name} loads {found}" for found in LOADS.findall(path.read_text())]
    return broken


def browse(address: str, window: tuple[int, int], is_dark: bool, *words: str) -> str:
    options = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=5000", f"--window-size={window[0]},{window[1]}",
               f"--blink-settings=preferredColorScheme={0 if is_dark else 1}", "--dump-dom"]
    return subprocess.run(["chromium-headless-shell", *options, *words, address], check=True, capture_output=True, text=True, timeout=120).stdout


def seen(site: Path, pictures: Path) -> list[str]:
    """What is wrong in a browser. Writes pictures of all pages."""
    wrong = []
    pictures.mkdir(exist_ok=True)
    for path in sorted(site.glob("*.html")):
        copy = site / f".{path.name}"
        copy.write_text(path.read_text() + PROBE)
        for window, is_dark in ((window, is_dark) for window in WINDOWS for is_dark in (False, True)):
            picture = pictures / f"{path.stem}-{window[0]}-{'dark' if is_dark else 'light'}.png"
            found = re.search(r"<title>(\[.*?\])</title>", browse(copy.as_uri(), window, is_dark, f"--screenshot={picture}"))
            width, ends = json.loads(found[1]) if found else (0, [])
            wrong += [f"{picture.name}: {width} pixels wide"] if not 0 < width <= window[0] else []
            wrong += [f"{picture.name}: {what} ends at {end}" for what, end in zip(FIRST, ends) if path.name == "index.html" and not 0 < (end or 0) <= window[1]]
        copy.unlink()
    for words, page in SEARCHES.items():
        if f'<a href="{page}.html' not in browse(f"{(site / 'search.html').as_uri()}?q={words}", WINDOWS[0], False).split('id="search-results"')[-1]:
            wrong.append(f"the search for {words} does not find {page}")
    return wrong
