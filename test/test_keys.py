# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Keys of compiled code: no robot ever gets the code of another."""

from collections import deque
from dataclasses import dataclass
import functools
import math
import operator
import os
from pathlib import Path
import shutil
import subprocess
import sys
import threading
import types
import zipfile

import numpy as np
import pytest
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.compiler import cos, sin
from rbd_ros.compiler.content_digest import digest, look
from rbd_ros.compiler.native import cache
from rbd_ros.control.robot import make_robot
from rbd_ros.control.tick import TickKernels
from rbd_ros.dynamics import fingerprint
from rbd_ros.errors import UnseenError
from rbd_ros.joints import Joint, Revolute, UserJoint
from rbd_ros.samples.families import regular_tree
from rbd_ros.sim.frames import Frames
from rbd_ros.sim.steps.engine import compiled_engine
from rbd_ros.spatial import AxialScrew, Motion, RigidInertia, rotx, Sym3, Vec3

pytestmark = pytest.mark.slow

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
PACKAGE = Path(rbd_ros.__file__).parent

#: A module of the user's, with constants that joints read.
own = types.ModuleType('own_constants')
own.GEAR = 1.0
own.TABLE = {'gear': [1.0]}
sys.modules['own_constants'] = own


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Return a cache folder of its own."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / 'cache'))
    monkeypatch.setattr(own, 'GEAR', 1.0)
    monkeypatch.setattr(own, 'TABLE', {'gear': [1.0]})
    return tmp_path / 'cache'


def geared(gear):
    """Return a class of joints that turn by a multiple of q; every one has the same name."""
    class Geared(Revolute):

        def transform(self, q, t=0.0):
            return super().transform([gear * q[0]], t)

        def subspace(self, q, t=0.0):
            return (Motion.unit(2) * gear,)
    return Geared


def arm(joint):
    """Return a link that hangs on a joint about a level axis."""
    builder = rbd_ros.ModelBuilder('arm')
    builder.add_body('link', 'base', joint, rotx(0.5 * math.pi), RigidInertia.from_com(
        2.0, Vec3(0.4, 0.0, 0.0), Sym3(0.1, 0.0, 0.0, 0.1, 0.0, 0.1)))
    return builder.build()


def torque(gear, q=0.3):
    """Return m g l cos(gear q), felt through the gear."""
    return gear * 2.0 * 9.81 * 0.4 * math.cos(gear * q)


def user(gear):
    """Return a user's joint whose functions read what ``gear`` gives."""
    return UserJoint(1, 1, transform=lambda q, t: AxialScrew(
        2, cos(gear() * q[0]), sin(gear() * q[0])),
        subspace=lambda q, t: (Motion.unit(2) * gear(),))


def hidden():
    """Read a constant in a way that no look at the code can follow."""
    return getattr(own, 'GE' + 'AR')


def late():
    """Import when called."""
    from own_constants import GEAR
    return GEAR


@pytest.mark.parametrize('backend', ['llvm', 'reference'])
def test_two_classes_of_one_name(backend):
    """Robots whose joint classes differ only in code get the torques of their own code."""
    for gear in (1.0, 2.0, -0.5):
        robot = rbd_ros.Dynamics(arm(geared(gear)()), backend=backend)
        assert robot.gravity([0.3])[0] == pytest.approx(torque(gear), rel=1e-12)
        assert rbd_ros.gravity(robot.model, [0.3])[0] == pytest.approx(torque(gear), rel=1e-12)
    assert arm(geared(1.0)()) != arm(geared(2.0)())


@pytest.mark.parametrize('read', [
    lambda: own.GEAR, lambda: own.TABLE['gear'][0], hidden, late, lambda: inner(),
    functools.partial(operator.attrgetter('GEAR'), own)],
    ids=['attribute', 'table', 'hidden', 'imported', 'helper', 'partial'])
@pytest.mark.parametrize('anew', [True, False], ids=['new model', 'same model'])
def test_constants_of_a_module(read, anew, monkeypatch):
    """A constant that a joint reads is the one of now, however it is read."""
    model = arm(user(read))
    for gear in (1.0, 1.5, 1.0):
        monkeypatch.setattr(own, 'GEAR', gear)
        own.TABLE['gear'][0] = gear
        model = arm(user(read)) if anew else model
        robot = rbd_ros.Dynamics(model, backend='llvm')
        assert robot.gravity([0.3])[0] == pytest.approx(torque(gear), rel=1e-12)
        assert rbd_ros.gravity(model, [0.3])[0] == pytest.approx(torque(gear), rel=1e-12)


def inner():
    """Read the constant at a distance."""
    return (lambda: own.GEAR)()


def test_rules_of_a_quantity():
    """A quantity counts with the code of its rules, on disk, and what it computes within."""
    robot = rbd_ros.Dynamics(regular_tree(2), backend='llvm')
    for factor in (2.0, 3.0):
        def rule(s, factor=factor):
            return {'y': [factor * s.inputs['q'][0]]}
        mine = rbd_ros.Dynamics(regular_tree(2), backend='llvm').define(
            'mine', inputs=['q'], rule=rule)
        assert mine(np.ones(2))[0] == factor
        # The same in one robot, where another quantity is made of it.
        robot.define('mine', inputs=['q'], rule=rule)
        if factor == 2.0:
            robot.define('outer', inputs=['q'], rule=lambda s: {'y': s.compute('mine')})
        assert robot.compute('outer', np.ones(2))[0] == factor


def test_simulator_and_ticks():
    """The step of the simulator, its frames and the kernels of the node see the joint's code."""
    found = []
    for gear in (1.0, 2.0):
        model = arm(geared(gear)())
        engine = compiled_engine(model, 'semi_implicit', backend='llvm')
        for name in ('effort_limit', 'upper'):
            engine.inputs[name][:] = 1e300
        engine.inputs['lower'][:] = -1e300
        engine.inputs['setting'][:] = [1e-3, 0.0, 1.0, 1.0, 0.0, 0.0]
        engine()
        inertia = 0.1 + 2.0 * 0.4**2        # about the axis
        expected = -1e-3 * torque(gear, 0.0) / (gear * gear * inertia)
        assert engine.outputs['v'][0] == pytest.approx(expected, rel=1e-9)
        place = Frames(model, backend='llvm').moving([0.3])[0]
        assert place.rotation[3] == pytest.approx(
            math.cos(0.25 * math.pi) * math.cos(0.5 * gear * 0.3), rel=1e-12)
        tick = TickKernels(make_robot(model), driver_adds='none',
                           driver_knows_payload=False).compile('gravity')
        tick.inputs['q'][:] = 0.3
        tick.inputs['gravity'][:] = model.gravity
        tick()
        found.append(tick.outputs['gravity'][0])
    assert found == pytest.approx([torque(1.0), torque(2.0)], rel=1e-12)


# --- the digest itself ------------------------------------------------------------------------


class Plain:
    """A class with all that a class may hold."""

    K = 2.0

    def __init__(self, k=1.0):
        self.k = k

    @property
    def both(self):
        """Return a product."""
        return self.k * self.K

    @staticmethod
    def fixed():
        """Return a number."""
        return 3.0

    @classmethod
    def made(cls):
        """Return an object."""
        return cls(4.0)

    def method(self):
        """Return a number."""
        return self.both + 1.0


class Child(Plain):
    """Inherits all."""


class Slotted:
    """A class without a dictionary, and with a private slot."""

    __slots__ = ('__hidden', 'open')

    def __init__(self, hidden, open_=0.0):
        self.__hidden, self.open = hidden, open_


@dataclass(frozen=True)
class Record(Revolute):
    """A joint with more than its fields."""

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, 'extra', own.GEAR)


def uses(value):
    """Return a function with a value in its closure."""
    return lambda t: value


def calls_module():
    """Use a module of the user's."""
    return own.GEAR


def deep():
    """Call what calls a module."""
    return calls_module() + 1.0


BEFORE_AND_AFTER = {
    'array': (np.arange(3.0), np.array([0.0, 1.0, 2.0 + 5e-16])),
    'array in a closure': (uses(np.arange(2000.0)), uses(np.r_[np.arange(1999.0), 7.0])),
    'dtype': (np.zeros(2), np.zeros(2, np.float32)),
    'object array': (np.array([{}, 1], object), np.array([{}, 2], object)),
    'number kind': (np.float32(0.1), np.float64(0.1)),
    'signed zero': (0.0, -0.0),
    'default': (lambda t, k=1.0: k, lambda t, k=2.0: k),
    'keyword default': (lambda *, k=1.0: k, lambda *, k=2.0: k),
    'nested constant': (lambda t: (lambda: 1.0)(), lambda t: (lambda: 2.0)()),
    'operator': (lambda t: t + 1.0, lambda t: t - 1.0),
    'name': (lambda t: math.sin(t), lambda t: math.cos(t)),
    'partial': (functools.partial(max, 1.0), functools.partial(max, 2.0)),
    'bound method': (Plain(1.0).method, Plain(2.0).method),
    'attribute': (Plain(1.0), Plain(2.0)),
    'private slot': (Slotted(1.0), Slotted(2.0)),
    'unset slot': (Slotted.__new__(Slotted), Slotted(1.0)),
    'set': ({1.0, 2.0, 'a'}, {1.0, 2.0, 'b'}),
    'mixed keys': ({1: 1.0, 'a': 2.0}, {1: 2.0, 'a': 1.0}),
    'list': ([1.0, [2.0]], [1.0, [2.5]]),
    'C object': (deque([1.0]), deque([2.0])),
    'cached': (functools.cache(lambda t: 1.0), functools.cache(lambda t: 2.0)),
    'exception handler': (compile('try:\n f()\nexcept A: x = 1', '', 'exec'),
                          compile('try:\n f()\nexcept B: x = 1', '', 'exec')),
}


@pytest.mark.parametrize('case', BEFORE_AND_AFTER)
def test_digest_sees(case):
    """The smallest change of what is captured changes the digest; the same again does not."""
    before, after = BEFORE_AND_AFTER[case]
    assert digest(before) != digest(after)
    assert digest(before) == digest(before)


@pytest.mark.parametrize(('name', 'new'), [
    ('K', 2.5), ('both', property(lambda self: 0.0)), ('fixed', staticmethod(lambda: 3.5)),
    ('made', classmethod(lambda cls: cls(5.0))), ('method', lambda self: 0.0),
    ('extra', 1.0)])
@pytest.mark.parametrize('kind', [Plain, Child])
def test_digest_sees_the_whole_class(kind, name, new, monkeypatch):
    """Every function, property and constant of a class counts, also in a base class."""
    before = digest(kind()), digest(kind), digest(lambda: kind.made())
    monkeypatch.setattr(Plain, name, new, raising=False)
    after = digest(kind()), digest(kind), digest(lambda: kind.made())
    assert all(a != b for a, b in zip(before, after, strict=True))
    monkeypatch.undo()
    assert digest(kind()) == before[0]


def test_digest_sees_helpers_of_helpers(monkeypatch):
    """What a function calls counts, and what that reads from modules."""
    before = digest(deep), digest(late), digest(Record())
    monkeypatch.setattr(own, 'GEAR', 1.25)
    assert all(a != b for a, b in zip(before, (digest(deep), digest(late), digest(Record())),
                                      strict=True))
    before = digest(deep)
    monkeypatch.setitem(globals(), 'calls_module', lambda: 2.0)
    assert digest(deep) != before


def test_a_replaced_method_of_the_library_counts(monkeypatch):
    """A library class that somebody patched is a user's class from then on."""
    model = arm(Revolute())
    assert not model.has_user_code
    monkeypatch.setattr(Revolute, 'transform', lambda self, q, t=0.0: AxialScrew(2, 1.0, 0.0))
    assert arm(Revolute()).has_user_code and arm(Revolute()).digest() != model.digest()


def test_cycles_end():
    """Objects, functions and classes that refer to themselves have a digest."""
    ring = [1.0]
    one, two = Plain(ring), Plain(ring)
    one.k, two.k = two, one
    ring.append(one)

    def again(n):
        return again(n - 1) if n else one
    assert digest(one, again) == digest(one, again)


@pytest.mark.parametrize('value', [
    object(), threading.Lock(), (n for n in range(3)), sys.__stdout__,
    np.frompyfunc(lambda x: x, 1, 1), lambda: globals()['own'], hidden, uses(threading.Lock())],
    ids=['object', 'lock', 'generator', 'file', 'ufunc', 'globals', 'getattr', 'closure'])
def test_what_cannot_be_seen_is_refused(value):
    """No digest is made up for what hides its content; the message says what hides it."""
    with pytest.raises(UnseenError, match='cannot make a digest of (.|\n)*: (it|its|a|this) '):
        digest(value)


def test_models_with_unseen_code_are_equal_to_themselves_alone():
    """Where code cannot be compared, two models are not called equal."""
    one, two = arm(user(hidden)), arm(user(hidden))
    assert one == one and one != two and len({one, two}) == 2


def test_digest_is_the_same_in_every_process():
    """Neither the hash seed, nor addresses, nor the order of sets matter."""
    code = """
import functools, math, numpy as np
from rbd_ros.compiler.content_digest import digest
class A:
    names = frozenset(('x', 'yy', 'zzz', 'a', 'b'))
    def f(self, k): return k in {'one', 'two', 'three', 'four'} and self.names
print(digest(A, A(), A().f, {'p', 'q', 'r'}, functools.partial(A, 1), math.sin, np.sin, np.eye(2),
             lambda: A))
"""
    seen = {subprocess.run([sys.executable, '-c', code], check=True, text=True,
                           timeout=patient(60), stdout=subprocess.PIPE,
                           env=os.environ | {'PYTHONHASHSEED': seed}
                           ).stdout for seed in ('1', '2', '77')}
    assert len(seen) == 1


def test_library_robots_have_keys_and_users_have_none(caplog):
    """Robots of library joints are found without tracing; code of a user is traced, and said."""
    assert len(fingerprint.kernel_key(regular_tree(3), 'x')) == 64
    fingerprint._explain.cache_clear()
    with caplog.at_level('INFO', 'rbd_ros'):
        assert fingerprint.kernel_key(arm(geared(1.0)()), 'x') == ''
        assert fingerprint.kernel_key(regular_tree(3), lambda: 1.0) == ''
        assert fingerprint.kernel_key(arm(geared(1.0)()), 'y') == ''
    assert [record.message.count('traced at every start') for record in caplog.records] == [1, 1]


def test_version_is_part_of_the_key(monkeypatch):
    """Another version of the package does not find the code of this one."""
    before = fingerprint.kernel_key(regular_tree(3), 'x')
    fingerprint._circumstances.cache_clear()
    monkeypatch.setattr(fingerprint, 'VERSION', '99.0')
    assert fingerprint.kernel_key(regular_tree(3), 'x') != before
    fingerprint._circumstances.cache_clear()
    monkeypatch.undo()
    assert fingerprint.kernel_key(regular_tree(3), 'x') == before


# --- installations ----------------------------------------------------------------------------

KEYS = """
import sys
from rbd_ros.compiler.native import cache
keys = []
class Asked(BaseException):  # nothing need be compiled
    pass
def read(key):
    keys.append(key)
    raise Asked
cache.read = read
from rbd_ros import Dynamics
from rbd_ros.control.robot import make_robot
from rbd_ros.control.tick import TickKernels
from rbd_ros.samples import families as samples
from rbd_ros.sim.steps.engine import compiled_engine
from rbd_ros.sim.frames import Frames
model = samples.regular_tree(2)
for make in (
        lambda: Dynamics(model).compile('gravity'),
        lambda: compiled_engine(model, 'semi_implicit'), lambda: Frames(model),
        lambda: TickKernels(make_robot(model), driver_adds='none',
                            driver_knows_payload=False).compile('gravity')):
    try:
        make()
    except Asked:
        pass
print(*keys, sys.modules['rbd_ros'].__file__)
"""


def keys_of(place):
    """Return the keys of four kernels of the package at a place: folder or archive."""
    path = os.pathsep.join([str(place), *sys.path[1:]])
    out = subprocess.run([sys.executable, '-c', KEYS], check=True, timeout=patient(300), text=True,
                         stdout=subprocess.PIPE, cwd=place.parent,
                         env=os.environ | {'PYTHONPATH': path, 'PYTHONDONTWRITEBYTECODE': '1'})
    *keys, file = out.stdout.split()
    assert str(place) in file and len(keys) == 4
    return keys


def copy_of(place):
    """Copy the sources of the package."""
    shutil.copytree(PACKAGE, place / 'rbd_ros', ignore=shutil.ignore_patterns('__pycache__'))
    return place


def without_sources(place):
    """Leave byte code alone, as in an installation that hides its sources."""
    subprocess.run([sys.executable, '-m', 'compileall', '-q', '-b', place], check=True,
                   timeout=patient(300))
    for file in place.rglob('*.py'):
        file.unlink()
    return place


@pytest.fixture(scope='module')
def keys(tmp_path_factory):
    """Return the keys of the package as it is."""
    return keys_of(copy_of(tmp_path_factory.mktemp('package') / 'here'))


@pytest.mark.parametrize(('file', 'changed'), [
    ('sim/frames.py', [2]), ('sim/steps/step.py', [1]), ('control/laws/joint_space.py', [3]),
    ('control/tick.py', [3]), ('control/terms.py', [3]), ('control/tip.py', [3]),
    *((file, [0, 1, 2, 3]) for file in (
        'spatial/transform.py', 'joints/axial.py', 'model/model.py', 'algorithms/rnea.py',
        'dynamics/table.py', 'compiler/graph/simplify.py', 'compiler/native/modules.py'))])
def test_sources_are_part_of_the_key(file, changed, tmp_path, keys):
    """A change of a file changes the keys of all that is traced from it, and no others."""
    place = copy_of(tmp_path / 'here')
    with open(place / 'rbd_ros' / file, 'a') as handle:
        handle.write('\n_CHANGED = 1\n')
    after = keys_of(place)
    assert set(changed) <= {k for k in range(4) if keys[k] != after[k]} <= {*changed, 1}


@pytest.mark.parametrize('packed', [False, True], ids=['folder', 'archive'])
def test_installations_without_sources(packed, tmp_path):
    """Byte code alone, also in an archive, gives keys that follow the code."""
    seen = []
    for k, line in enumerate(('', '_CHANGED = 1\n')):
        place = copy_of(tmp_path / str(k))
        with open(place / 'rbd_ros' / 'algorithms' / 'rnea.py', 'a') as handle:
            handle.write(line)
        without_sources(place)
        if packed:
            archive = tmp_path / f'{k}.zip'
            with zipfile.ZipFile(archive, 'w') as target:
                for file in sorted(place.rglob('*.pyc')):
                    target.write(file, file.relative_to(place))
            place = archive
        seen.append(keys_of(place))
        assert keys_of(place) == seen[-1]
    assert not set(seen[0]) & set(seen[1])


LATE_EDIT = """
import sys
from pathlib import Path
import rbd_ros
package, when, text = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
if when == 'before':
    rbd_ros.Dynamics
    from rbd_ros.samples import families as samples
with open(package / 'rbd_ros' / 'spatial' / 'vectors.py', 'a') as file:
    file.write(text)
from rbd_ros.samples import families as samples
print(rbd_ros.Dynamics(samples.regular_tree(2), backend='llvm').gravity([0.3, 0.4])[1])
"""
TWICE = ('Force.dot = lambda f, m: 2.0 * (f.ang.dot(m.ang) + f.lin.dot(m.lin))\n'
         'Motion.dot = Force.dot')


@pytest.mark.parametrize('imported', ['before', 'after'])
def test_sources_that_change_under_a_process(imported, tmp_path, home):
    """
    Nothing is kept by a process whose sources changed after it was started.

    :param imported: whether the modules were read before the change or after it: in neither case
        may a process that starts later get the code of other sources than its own.
    """
    pytest.importorskip('llvmlite', reason='llvmlite is not installed')
    place = copy_of(tmp_path / 'here')
    file = place / 'rbd_ros' / 'spatial' / 'vectors.py'
    plain = file.read_text()
    path = os.pathsep.join([str(place), *sys.path[1:]])

    def gravity(text):
        done = subprocess.run(
            [sys.executable, '-c', LATE_EDIT, str(place), imported, text], check=True, text=True,
            timeout=300, capture_output=True, cwd=tmp_path,
            env=os.environ | {'PYTHONPATH': path, 'PYTHONDONTWRITEBYTECODE': '1'})
        if text:
            assert 'changed after rbd_ros was imported; restart the process' in done.stderr
        return float(done.stdout)

    first = gravity('\n' + TWICE)
    assert not list(home.rglob('*.rbd'))
    changed = gravity('')
    file.write_text(plain)
    before = gravity('')
    assert changed == pytest.approx(2.0 * before) and before != 0.0
    assert first == pytest.approx(before if imported == 'before' else changed)


def test_versions_agree():
    """The version is the same wherever it is written."""
    root = Path(__file__).parent.parent
    assert f'<version>{fingerprint.VERSION}</version>' in (root / 'package.xml').read_text()
    assert f"version='{fingerprint.VERSION}'" in (root / 'setup.py').read_text()


def test_looking_tells_whose_code_it_is():
    """Library, standard library and NumPy are known; everything else is a user's."""
    assert not look(Revolute(), math.sin, np.sin, functools.partial(max, 1.0), Joint).foreign
    assert look(deep).foreign and look(Plain).foreign and look(own).foreign
