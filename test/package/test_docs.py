# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The code in the documents runs, and the names and links in them exist."""

import ast
import csv
import importlib
import json
import re
import runpy

from linted import ROOT
import pytest
import rbd_ros
from rbd_ros.control.parameters.file import check_file
from rbd_ros.control.parameters.table import PARAMETERS
import yaml

pytestmark = pytest.mark.slow

DOCUMENTS = sorted([*ROOT.glob('*.md'), *(ROOT / 'docs').rglob('*.md')])
FENCE = re.compile(r'^```(\w*)\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def identity(path):
    """Return the name of a document as the tests print it."""
    return str(path.relative_to(ROOT))


def blocks(path):
    """Yield the Python blocks of a document, each on the lines it has there."""
    text = path.read_text()
    for match in FENCE.finditer(text):
        if match[1] == 'python':
            yield '\n' * text.count('\n', 0, match.start(2)) + match[2]


@pytest.mark.sampled('examples', 8)
@pytest.mark.parametrize(
    'path', [path for path in DOCUMENTS if any(blocks(path))], ids=identity)
def test_code_in_documents_runs(path, tmp_path, monkeypatch):
    """The Python blocks of a document run one after the other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    names = {'__name__': path.stem}
    for block in blocks(path):
        exec(compile(block, str(path), 'exec'), names)


def prose(path):
    """Return a document without its code blocks."""
    return FENCE.sub('', path.read_text())


def anchors(path):
    """Return what a link can point at in a document: its headings, as GitHub names them."""
    headings = re.findall(r'^#+ (.+)$', prose(path), re.MULTILINE)
    return {re.sub(r'[^\w -]', '', text.lower()).replace(' ', '-') for text in headings} | set(
        re.findall(r'<a id="([^"]+)">', path.read_text()))


@pytest.mark.parametrize('path', [*DOCUMENTS, ROOT / 'CHANGELOG.rst'], ids=identity)
def test_merges_are_finished(path):
    """No marker of a merge is left in a document."""
    assert not re.search(r'^([<>]{7} |={7}$)', path.read_text(), re.MULTILINE)


@pytest.mark.parametrize('path', DOCUMENTS, ids=identity)
def test_links_lead_somewhere(path):
    """Links name files that exist, and headings that these files have."""
    for target, anchor in re.findall(r'\]\(([^)#:]*)(?:#([^)]*))?\)', prose(path)):
        file = path.parent / target if target else path
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f'{target}#{anchor}'


@pytest.mark.parametrize('path', DOCUMENTS, ids=identity)
def test_sources_named_in_documents_exist(path):
    """Paths of files and folders of the package, and dotted names of its modules, exist."""
    text = prose(path)
    paths = [name for name in re.findall(r'`([a-z_]+/[\w./-]*\w/?)`', text)
             if (ROOT / name.partition('/')[0]).exists()
             or (ROOT / 'rbd_ros' / name.partition('/')[0]).exists()]
    assert not [name for name in paths
                if not (ROOT / name).exists() and not (ROOT / 'rbd_ros' / name).exists()]
    names = re.findall(r'`rbd_ros\.([\w.]+)', text)
    assert not [name for name in names if not found(name)]


@pytest.mark.parametrize('path', DOCUMENTS, ids=identity)
def test_parameters_named_in_documents_exist(path):
    """A name in a group of the controller's parameters, as contact.torque, is one of them."""
    groups = {name.partition('.')[0] for name in PARAMETERS if '.' in name}
    named = re.findall(r'`([a-z_]+\.[a-z_.]*[a-z])(?::[^`]*)?`', prose(path))
    assert not [name for name in named if name.partition('.')[0] in groups
                and name not in PARAMETERS and not name.endswith(('.md', '.py', '.yaml'))]


@pytest.fixture(scope='module')
def python_files():
    """Return the paths of all Python files of the repository."""
    folders = ('benchmark', 'docs', 'examples', 'launch', 'rbd_ros', 'test', 'tools')
    return [identity(path) for folder in folders for path in (ROOT / folder).rglob('*.py')]


@pytest.mark.parametrize('path', DOCUMENTS, ids=identity)
def test_python_files_named_in_documents_exist(path, python_files):
    """Whatever ends in .py, in prose, commands and maps, is the end of the path of a file."""
    named = re.findall(r'(?<![\w/.{-])([\w./-]*\w\.py)\b', path.read_text())
    made = ('my_modes.py', 'spring.py')  # which a reader writes
    assert not [name for name in named if not name.endswith(made) and not any(
        f'/{file}'.endswith(f'/{name.removeprefix("../")}') for file in python_files)]


def test_names_in_docstrings_exist(python_files):
    """What a docstring refers to as a module, class or function is one."""
    named = [(file, name) for file in python_files if file.startswith('rbd_ros/')
             for name in re.findall(r':[a-z]+:`~?rbd_ros\.([\w.]+)`', (ROOT / file).read_text())]
    assert len(named) > 20
    assert not [(file, name) for file, name in named if not found(name)]


def test_the_map_of_the_source_has_every_package():
    """CONTRIBUTING begins with a map in which every package below rbd_ros has its line."""
    text = (ROOT / 'CONTRIBUTING.md').read_text().partition('```')[2].partition('```')[0]
    packages = [path.parent.name for path in (ROOT / 'rbd_ros').glob('*/__init__.py')]
    assert len(packages) >= 10
    assert not [name for name in packages if f'\n  {name}/ ' not in text]
    rooms = [path.parent.name for path in (ROOT / 'rbd_ros' / 'control').glob('*/__init__.py')]
    assert not [name for name in rooms if f'\n    {name}/ ' not in text]


def test_the_records_of_the_controller_are_those_of_the_source():
    """The page is made from the declarations; each field of each record has its line."""
    made = runpy.run_path(str(ROOT / 'docs' / 'records.py'))
    page = made['page']()
    assert made['PAGE'].read_text() == page, 'renew it with ./run python docs/records.py'
    kinds = [kind for _, _, kind in made['TITLES']]
    for kind in kinds:
        kinds += [inner for inner in kind.groups.values() if inner not in kinds]
        assert all(f'\n{made["row"](each)}\n' in page for each in kind.fields)
    assert len(kinds) > 30 and all(each.text for kind in kinds for each in kind.fields)


def test_proof_of_safety_names_tests_that_exist():
    """Every test file, and every part of a test name, in the proof of safety exists."""
    text = (ROOT / 'docs' / 'developers' / 'safety_proof.md').read_text()
    parts = [part for row in text.splitlines() if row.startswith('| ')
             for cell in row.split('|') for part in cell.split(';')]
    checked = 0
    for part in parts:
        source = ''
        for name in re.findall(r'`([a-z_]+)(?:\.\.\.)?`', part):
            if name.startswith('test_'):
                source = next((ROOT / 'test').rglob(f'{name}.py')).read_text()
            elif source:
                assert name in source, part
                checked += 1
    assert checked > 50


def found(name):
    """Return whether a dotted name is a public name, or one of a module of the package."""
    parts = name.split('(')[0].split('.')
    try:
        holder = rbd_ros if hasattr(rbd_ros, parts[0]) else importlib.import_module('rbd_ros')
        for k, part in enumerate(parts):
            if not hasattr(holder, part):
                importlib.import_module('.'.join(['rbd_ros', *parts[:k + 1]]))
            holder = getattr(holder, part)
    except ImportError:
        return False
    return True


def test_the_map_to_the_book_names_what_exists():
    """Every name in the columns "call" and "source" of the map can be looked up."""
    text = (ROOT / 'docs' / 'book_map.md').read_text()
    rows = [line for line in text.splitlines() if line.startswith('|')]
    names = [name for row in rows for name in re.findall(r'`([A-Za-z_][\w.]*)', row)
             if '.' in name or name[0].isupper() or name == 'joints']
    assert len(names) > 70
    assert not [name for name in names if not found(name)]


def test_the_map_to_the_book_names_items_of_the_ledger():
    """Each id in the column "ledger" is in the ledger, and some test carries it."""
    with open(ROOT / 'test' / 'seed_ledger.csv', newline='', encoding='utf-8') as file:
        known = {row['id'] for row in csv.DictReader(file)}
    marked = set(re.findall(r"'((?:RBDA|MR|LIU|SIXD|SPENCER) [\w-]+)'", '\n'.join(
        path.read_text() for path in (ROOT / 'test').rglob('test_*.py'))))
    text = (ROOT / 'docs' / 'book_map.md').read_text().partition('## Examples')[0]
    named, width = [], 0
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if line.startswith(('| question', '| topic')):
            width = len(cells)
            assert cells[-1] == 'ledger', line
        elif line.startswith('| ') and len(cells) == width and cells[-1]:
            document = 'RBDA'
            for word in cells[-1].split(', '):
                document, _, number = word.rpartition(' ') if ' ' in word else (document, '', word)
                named.append(f'{document} {number}')
    assert len(named) > 250
    assert not set(named) - known and not set(named) - marked


def test_the_index_leads_from_every_item_to_the_code():
    """Every row of the ledger is in the index, in its order, with a place that exists."""
    with open(ROOT / 'test' / 'seed_ledger.csv', newline='', encoding='utf-8') as file:
        known = [(row['id'], row['where']) for row in csv.DictReader(file)]
    text = (ROOT / 'docs' / 'equation_index.md').read_text()
    rows = [re.split(r' (?<!\\)\| ', line.strip('| ')) for line in text.splitlines()
            if re.match(r'\| (RBDA|MR|LIU|SIXD|SPENCER) ', line)]
    assert [(row[0], row[1]) for row in rows] == known
    for row in rows:
        names = re.findall('`([^`]+)`', row[-1])
        assert names and not [name for name in names if not found(name)], row[0]


def test_the_map_to_the_book_leads_to_every_example():
    """Each example is a row of the last table of the map, with its question and no other file."""
    text = (ROOT / 'docs' / 'book_map.md').read_text().partition('## Examples')[2]
    named = re.findall(r'^\| [^|]+\? \| `examples/(\w+\.py)` \| [^|]+ \|$', text, re.M)
    assert sorted(named) == sorted(path.name for path in (ROOT / 'examples').glob('*.py'))


def test_the_map_to_the_book_has_every_method():
    """Every public method of Dynamics that computes something of the book is in the map."""
    text = (ROOT / 'docs' / 'book_map.md').read_text()
    other = {'add', 'bind', 'c_source', 'compile', 'compute', 'define', 'gravity_vector', 'handle',
             'kernel', 'methods', 'model', 'on', 'quantity', 'remove', 'set_time', 'sibling'}
    for name in dir(rbd_ros.Dynamics):
        if not name.startswith('_') and name not in other:
            assert f'`Dynamics.{name}' in text, name
    api = (ROOT / 'docs' / 'python_api.md').read_text()
    assert not [name for name in dir(rbd_ros.Dynamics)
                if not name.startswith('_') and name not in api]


def test_public_names_are_all_there():
    """What the package lists as public exists, and every error of the family is among it."""
    assert not [name for name in rbd_ros.__all__ if not hasattr(rbd_ros, name)]
    family = {name for name, value in vars(rbd_ros.errors).items()
              if isinstance(value, type) and issubclass(value, (rbd_ros.RbdError, Warning))}
    assert family <= set(rbd_ros.__all__)


def texts():
    """Return every text in the sources, with a blank where a value is put in."""
    found = [(ROOT / 'run').read_text()]  # the script that finds a Python
    for folder in ('rbd_ros', 'launch', 'tools'):
        for path in (ROOT / folder).rglob('*.py'):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.JoinedStr):
                    found.append(''.join(part.value if isinstance(part, ast.Constant) else ' '
                                         for part in node.values))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append(node.value)
    return re.sub(r'\s+', ' ', '\n'.join(found))


def test_troubleshooting_quotes_real_messages():
    """What the page quotes as a message is in the sources, but for names and numbers."""
    page = (ROOT / 'docs' / 'troubleshooting.md').read_text().partition('## It runs,')[0]
    known, checked = texts(), 0
    for row in page.splitlines():
        for quoted in re.findall(r'`([^`]+)`', row.split('|')[1]) if row.startswith('|') else []:
            for part in re.split(r'<[^>]*>|-?\d[\d.]*|\.\.\.|; did you mean', quoted):
                words = part.strip(' ,:"')
                if ' ' in words or '_' in words:
                    assert words in known, quoted
                    checked += 1
    assert checked > 15


@pytest.mark.parametrize('path', DOCUMENTS, ids=identity)
def test_parameter_files_in_documents_are_accepted(path, tmp_path):
    """What a page shows of a parameter file passes the check of the launch file."""
    for kind, text in FENCE.findall(path.read_text()):
        if 'moveit_controller_manager' in text:
            continue  # it is a file of MoveIt
        if kind == 'yaml' and re.search(r'^  controller:', text, re.MULTILINE):
            file = tmp_path / 'shown.yaml'
            file.write_text(text)
            assert check_file(str(file), '/controller')


def test_the_log_of_a_good_start_is_quoted():
    """What the pages show of the log is in the sources, but for names and numbers."""
    known, checked = texts(), 0
    value = re.compile(r': |\.\.\.|"\w+"|-?\d[\d.e-]*|joint_1|tool0|/\w+/\w+|the total torque')
    for path in (ROOT / 'README.md', *(ROOT / 'docs').glob('*.md')):
        for line in re.findall(r'^\[(?:.*\[)?controller\]: (.+)$', path.read_text(), re.M):
            for part in value.split(line):
                assert part.strip(' ,:;') in known, (path.name, line)
                checked += 1
    assert checked > 15


def described(page, heading):
    """Return what the first column of the first table after a heading names."""
    text = (ROOT / 'docs' / page).read_text().partition(heading)[2].lstrip()
    rows = re.findall(r'^\|(.*?)\|', text[text.index('|'):].partition('\n\n')[0], re.MULTILINE)
    return [name for row in rows for name in re.findall(r'`(\w+)`', row)]


@pytest.mark.parametrize('file, page, heading', [
    ('controller.launch.py', 'controller_reference.md', '## Launch files'),
    ('simulator.launch.py', 'simulator.md', '## Launch arguments')])
def test_launch_arguments_are_described(file, page, heading):
    """The table of a launch file has its arguments, each once and no others."""
    source = ast.parse((ROOT / 'launch' / file).read_text())
    declared = [node.args[0].value for node in ast.walk(source) if isinstance(node, ast.Call)
                and getattr(node.func, 'id', '') == 'DeclareLaunchArgument']
    assert sorted(described(page, heading)) == sorted(declared)


def test_parameters_of_the_dashboard_are_described():
    """The table of the page has every parameter of the node, each once and no others."""
    source = ast.parse((ROOT / 'rbd_ros' / 'nodes' / 'dashboard' / 'node.py').read_text())
    [table] = [node.value for node in source.body if isinstance(node, ast.AnnAssign)
               and node.target.id == 'PARAMETERS']
    assert sorted(described('dashboard.md', '### Parameters')) == sorted(
        key.value for key in table.keys)


def test_layouts_name_topics_that_exist():
    """What RViz, Foxglove and PlotJuggler are set to show is in the reference."""
    reference = (ROOT / 'docs' / 'controller_reference.md').read_text()
    simulator = (ROOT / 'docs' / 'simulator.md').read_text()
    files = [ROOT / 'config' / 'rbd_ros.rviz', *(ROOT / 'config' / 'layouts').iterdir()]
    json.loads(files[0].with_name('layouts').joinpath('foxglove.json').read_text())
    yaml.safe_load(files[0].read_text())
    for file in files:
        topics = re.findall(r'["\s](/(?:controller|simulator)/[a-z_/]+)', file.read_text())
        assert topics, file
        for topic in topics:
            _, node, name = topic.split('/', 2)
            page = reference if node == 'controller' else simulator
            parts = name.split('/')
            starts = ['/'.join(parts[:k + 1]) for k in range(len(parts))]
            assert any(f'`~/{start}`' in page for start in starts), topic
