# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
The site builds from the packages of its own groups, and every link in it leads somewhere.

Without --all a few pages are drawn, and one of the tests that say more of a page than that.
"""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
import os
from pathlib import Path
import re
import subprocess
import sys
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from linted import ROOT
from PIL import Image
import pytest
import rbd_ros
from rbd_ros.learn.lessons import lessons
from sampling import some, whole

pytestmark = pytest.mark.slow

#: Packages of other groups than those of the documentation; ./run docs does not install them.
FOREIGN = ('hypothesis', 'IPython', 'jupyterlab', 'matplotlib', 'mujoco', 'pinocchio', 'pytest')
#: Where each door of the first page leads.
DOORS = {'I have a robot': 'connect_your_robot', 'I have a model': 'command_line',
         'I have the book': 'book_map'}
#: Every page, by its document.
DOCUMENTS = sorted(str(path.relative_to(ROOT)) for path in (
    *(ROOT / name for name in ('README.md', 'CONTRIBUTING.md', 'CHANGELOG.rst')),
    *(ROOT / 'docs').glob('*.md'), *(ROOT / 'docs' / 'developers').glob('*.md'),
    *(ROOT / 'rbd_ros' / 'learn').glob('*.md')))
#: What the tests of single pages need.
NEEDED = {
    'test_doors': [f'docs/{name}.md' for name in DOORS.values()],
    'test_the_reference_has_every_public_name': ['docs/api.md'],
    'test_the_gallery_has_every_example': ['docs/gallery.md'],
    'test_every_lesson_is_a_page': [
        'docs/lessons.md', *(name for name in DOCUMENTS if name.startswith('rbd_ros/'))],
    'test_the_maps_lead_to_the_lines': ['docs/book_map.md', 'docs/equation_index.md']}


class Link(NamedTuple):
    """What a page points at, and the text that does."""

    target: str
    text: str


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[Link] = []
        self.anchors: set[str] = set()
        self._open: list[str] = []
        self._text = ''
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an anchor, or the begin of a link."""
        given = dict(attrs)
        self.anchors |= {value for key in ('id', 'name') if (value := given.get(key))}
        if tag in ('img', 'script', 'source') and given.get('src'):
            self.links.append(Link(str(given['src']), ''))
        if tag == 'a':
            self._open.append(given.get('href') or '')
            self._text = ''

    def handle_data(self, data: str) -> None:
        """Note text."""
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        """Note a whole link."""
        if tag == 'a' and self._open and (target := self._open.pop()):
            self.links.append(Link(target, self._text.strip()))


@pytest.fixture(scope='module')
def built(request: pytest.FixtureRequest) -> list[str]:
    """Return the documents of the pages that are built."""
    drawn = set(some('examples', DOCUMENTS, 3)) | {'docs/index.md'}
    for item in request.session.items:
        if item.path == request.path:
            drawn |= set(NEEDED.get(getattr(item, 'originalname', ''), []))
    return sorted(drawn)


@pytest.fixture(scope='module')
def site(built: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site where packages of other groups cannot be imported."""
    folder = tmp_path_factory.mktemp('site')
    (folder / 'foreign').mkdir()
    for name in FOREIGN:
        (folder / 'foreign' / f'{name}.py').write_text(f"raise ImportError('{name} is foreign')\n")
    path = f'{folder / "foreign"}:{ROOT / "tools"}:{os.environ.get("PYTHONPATH", "")}'
    words = [str(folder / 'html'), *(built if len(built) < len(DOCUMENTS) else [])]
    done = subprocess.run(
        [sys.executable, '-m', 'rbd_env.docs', *words], capture_output=True, text=True, cwd=folder,
        env={**os.environ, 'PYTHONPATH': path, 'RBD_ROS_ROOT': str(ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / 'html'


@pytest.fixture(scope='module')
def pages(site: Path) -> dict[Path, Page]:
    """Return every page of the site by its file."""
    return {file: Page(file) for file in site.rglob('*.html')}


def test_every_document_is_a_page(site: Path, built: list[str]) -> None:
    """Sphinx makes every page that it is asked for, and draws formulas."""
    for name in built:
        page = (site / name).with_suffix('.html').read_text()
        assert '<math' in page or '```math' not in (ROOT / name).read_text(), name
    assert (site / '_static' / 'copybutton.js').exists()


def test_links_lead_somewhere(site: Path, built: list[str], pages: dict[Path, Page]) -> None:
    """Each link within the site leads to a file, and to an anchor that the file has."""
    wrong, checked = [], 0
    left_out = {(site / name).with_suffix('.html').resolve() for name in DOCUMENTS
                if name not in built}
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link.target)
            if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            anchor, known = unquote(parts.fragment), pages.get(target)
            if target in left_out:
                continue
            if not target.exists() or (anchor and known and anchor not in known.anchors):
                wrong.append(f'{file.name}: {link.target}')
            checked += 1
    assert checked > (2000 if whole('examples') else 50) and not wrong, wrong[:20]


def test_the_first_page_moves() -> None:
    """Its picture is a film, and small enough for a slow line."""
    file = ROOT / 'docs' / 'pictures' / 'arm.webp'
    with Image.open(file) as image:
        assert getattr(image, 'n_frames', 1) > 20
    assert file.stat().st_size < 10**6
    assert 'pictures/arm.webp' in (ROOT / 'docs' / 'index.md').read_text()


def linked_lines(page: Page) -> Iterator[tuple[Link, str]]:
    """Yield the links of a page to lines of the source, and the lines."""
    for link in page.links:
        match = re.fullmatch(r'\.\./source/(.+)\.html#L-(\d+)', link.target)
        if match:
            yield link, (ROOT / f'{match[1]}.py').read_text().splitlines()[int(match[2]) - 1]


@pytest.mark.sampled('examples', 1)
class TestSinglePages:
    """What some pages have besides."""

    def test_doors(self, site: Path, pages: dict[Path, Page]) -> None:
        """The first page has three doors, and they lead where they say."""
        first = site / 'docs' / 'index.html'
        assert re.findall(r'<div class="door docutils', first.read_text()) == 3 * [
            '<div class="door docutils']
        found = {link.text: link.target for link in pages[first].links if link.text in DOORS}
        assert found == {text: f'{page}.html' for text, page in DOORS.items()}

    def test_the_reference_has_every_public_name(
            self, site: Path, pages: dict[Path, Page]) -> None:
        """Public names, and the public methods of a robot, have their places."""
        anchors = pages[site / 'docs' / 'api.html'].anchors
        assert not [name for name in rbd_ros.__all__ if f'rbd_ros.{name}' not in anchors]
        assert not [name for name in dir(rbd_ros.Dynamics)
                    if not name.startswith('_') and f'rbd_ros.Dynamics.{name}' not in anchors]

    def test_the_gallery_has_every_example(self, site: Path, pages: dict[Path, Page]) -> None:
        """Each example has its question, its picture and its source."""
        page = pages[site / 'docs' / 'gallery.html']
        found = {link.target: link.text for link in page.links}
        for file in (ROOT / 'examples').glob('*.py'):
            question = found[f'../source/examples/{file.stem}.html'].replace('\u2019', "'")
            assert question.endswith('?') and question in ' '.join(file.read_text().split())
            source = (site / 'source' / 'examples' / f'{file.stem}.html').read_text()
            assert file.stem in source
        text = (site / 'docs' / 'gallery.html').read_text()
        cards = text.split('<div class="example docutils')[1:]
        assert len(cards) == len(list((ROOT / 'examples').glob('*.py')))
        assert all('<img' in card for card in cards)

    def test_every_lesson_is_a_page(self, site: Path, pages: dict[Path, Page]) -> None:
        """Its formulas are drawn, its answers folded, its exercises open."""
        found = {(link.target, link.text) for link in pages[site / 'docs' / 'lessons.html'].links}
        for each in lessons():
            assert (f'../rbd_ros/learn/{each.name}.html', each.title) in found
            text = (site / 'rbd_ros' / 'learn' / f'{each.name}.html').read_text()
            assert f'rbd learn {each.name}' in re.sub('<[^>]*>', '', text) and '<math' in text
            folds = re.findall(r'<details>(.*?)</details>', text, re.DOTALL)
            assert len(folds) == each.text.count('```python answer') >= 2
            assert all('highlight-python' in fold for fold in folds)
            assert text.count('your answer') - ''.join(folds).count('your answer') >= 2
        rnea = (site / 'rbd_ros' / 'learn' / 'rnea.html').read_text()
        assert '<mi>\U0001d446\u030a</mi>' in rnea  # S with its ring is one letter

    @pytest.mark.parametrize(('name', 'equations', 'names'), [
        ('book_map', 70, 200), ('equation_index', 110, 700)])
    def test_the_maps_lead_to_the_lines(self, pages: dict[Path, Page], site: Path, name: str,
                                        equations: int, names: int) -> None:
        """A number leads to a line that ends with it, a name to the line that defines it."""
        counts = {'equation': 0, 'name': 0}
        for link, line in linked_lines(pages[site / 'docs' / f'{name}.html']):
            if link.text[0].isdigit():
                mark = line.rpartition('# ')[2]
                assert link.text in re.findall(r'\d+\.\d+', mark), (link, line)
                counts['equation'] += 1
            else:
                last = link.text.rpartition('.')[2]
                assert (re.match(rf'\s*(@|(async )?def {last}\b|class {last}\b)', line)
                        or link.target.endswith('#L-1')), (link, line)
                counts['name'] += 1
        assert counts['equation'] >= equations and counts['name'] >= names, counts
