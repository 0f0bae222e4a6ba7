"""What `mkdocs` asks while it builds the site: pages that are made of the code."""

from mkdocs.structure.files import File

from tests.docs import commands
from tests.docs.reference import FRONTS, LARGE, pages

MADE = {}


def on_config(config):
    """Make the pages, and give them their place."""
    MADE.update(pages())
    MADE[commands.PAGE] = commands.page()
    places = [{"Every name": "reference/index.md"}, {"Command line": commands.PAGE}]
    for front in FRONTS:
        own = [page for page in MADE if _is_of(page, front)]
        called = f"rlconnect.{front}".rstrip(".")
        if front in LARGE:
            groups = {page.split("-", 1)[1].removesuffix(".md"): page for page in sorted(own)}
            places.append({called: [{group: page} for group, page in groups.items()]})
        else:
            places.append({called: own[0]})
    for section in config.nav:
        if "Reference" in section:
            section["Reference"] = [*places, *section["Reference"]]


def _is_of(page, front):
    stem = page.removeprefix("reference/").removesuffix(".md")
    if front in LARGE:
        return stem.startswith(f"{front}-")
    return stem == (front.replace(".", "-") or "rlconnect")


def on_files(files, config):
    """Hand them in."""
    for path, text in MADE.items():
        files.append(File.generated(config, path, content=text))


def on_page_markdown(markdown, page, config, files):
    """Draw what the page has a place for, and show the scripts that it names."""
    from tests.docs.drawings import drawn
    from tests.docs.gallery import with_sources

    return with_sources(drawn(markdown))
