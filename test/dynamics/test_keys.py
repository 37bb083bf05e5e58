# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Keys of compiled code: no robot ever gets the code of another."""

from collections import deque
from dataclasses import dataclass, replace
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
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.robot import make_robot
from rbd_ros.dynamics.families.forward_dynamics import watched
from rbd_ros.dynamics.kernels import key as kernel_keys
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
        tick = LawKernels(make_robot(model), driver_adds='none',
                          driver_knows_payload=False).compile('stop')
        tick.inputs['q'][:] = 0.3
        tick.inputs['gravity'][:] = model.gravity
        tick()
        found.append(tick.outputs['gravity'][0])
    assert found == pytest.approx([torque(1.0), torque(2.0)], rel=1e-12)


# --- the digest itself ------------------------------------------------------------------------


class Plain:
    """A class of the user's."""

    def __init__(self, k=1.0):
        self.k = k

    def method(self):
        """Return a number."""
        return self.k


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


def uses_module():
    """Use a module of the user's."""
    return own.GEAR


DATA = {
    'array': (np.arange(3.0), np.array([0.0, 1.0, 2.0 + 5e-16])),
    'long array': (np.arange(2000.0), np.r_[np.arange(1999.0), 7.0]),
    'shape': (np.zeros((2, 3)), np.zeros((3, 2))),
    'dtype': (np.zeros(2), np.zeros(2, np.float32)),
    'number kind': (np.float32(0.1), np.float64(0.1)),
    'signed zero': (0.0, -0.0),
    'integer': (1, 1.0),
    'text': ('1.0', 1.0),
    'nesting': (((1.0,), 2.0), ((1.0, 2.0),)),
    'set': ({1.0, 2.0, 'a'}, {1.0, 2.0, 'b'}),
    'mixed keys': ({1: 1.0, 'a': 2.0}, {1: 2.0, 'a': 1.0}),
    'list': ([1.0, [2.0]], [1.0, [2.5]]),
    'axis of a joint': (Revolute(Vec3(0.0, 0.0, 1.0)), Revolute(Vec3(0.0, 1.0, 0.0))),
    'inertia': (Sym3(1.0, 0.0, 0.0, 1.0, 0.0, 1.0), Sym3(1.0, 0.0, 0.0, 1.0, 0.0, 1.5)),
    'class': (Revolute, Joint),
    'function': (cos, sin),
    'built-in function': (math.sin, math.cos),
    'method': (Vec3(1.0, 0.0, 0.0).dot, Vec3(2.0, 0.0, 0.0).dot),
    'partial': (functools.partial(cos, 1.0), functools.partial(cos, 2.0)),
    'closure': (watched(cos, sin, 'a'), watched(cos, cos, 'a')),
}


@pytest.mark.parametrize('case', DATA)
def test_digest_sees(case):
    """The smallest change of what is held changes the digest; the same again does not."""
    before, after = DATA[case]
    assert digest(before) != digest(after)
    assert digest(before) == digest(before)


FOREIGN = {
    'function': uses_module, 'lambda': lambda: 1.0, 'class': Plain, 'object': Plain(),
    'method': Plain().method, 'slots': Slotted(1.0), 'joint': Record(), 'geared': geared(2.0)(),
    'partial': functools.partial(uses_module), 'cached': functools.cache(uses_module),
    'closure': watched(uses_module, cos, 'a'), 'deep': {'a': [1.0, (uses_module,)]},
    'bare': object(), 'lock': threading.Lock(), 'generator': (n for n in range(3)),
    'file': sys.__stdout__, 'ufunc': np.frompyfunc(lambda x: x, 1, 1),
    'C object': deque([1.0]), 'object array': np.array([{}, 1], object),
}


@pytest.mark.parametrize('case', FOREIGN)
def test_code_of_a_user_has_no_digest(case):
    """Nothing is made up for code that may read anything; it counts as itself, in this process."""
    value = FOREIGN[case]
    assert look(value).foreign and look(value) == look(value) != look([value])
    with pytest.raises(UnseenError, match='cannot make a digest of'):
        digest(value)
    assert kernel_keys.kernel_key(regular_tree(3), value) == ''


def test_objects_of_a_user_are_compared_by_what_they_hold():
    """Two joints of one class are equal while their numbers are."""
    kind = geared(2.0)
    one, two = arm(kind()), arm(kind())
    assert one == two and hash(one) == hash(two) and one != arm(geared(2.0)())
    object.__setattr__(two.joint[1], 'extra', 1.0)
    assert one != two
    assert look(Slotted(1.0)) == look(Slotted(1.0)) != look(Slotted(2.0))
    lambdas = [arm(user(hidden)) for _ in range(2)]
    assert lambdas[0] == lambdas[0] != lambdas[1] and len(set(lambdas)) == 2


def test_a_replaced_method_of_the_library_counts(monkeypatch):
    """A library class that somebody patched is a user's class from then on."""
    model = arm(Revolute())
    assert not model.has_user_code
    monkeypatch.setattr(Revolute, 'transform', lambda self, q, t=0.0: AxialScrew(2, 1.0, 0.0))
    assert arm(Revolute()).has_user_code and arm(Revolute()) != model
    with pytest.raises(UnseenError, match='"?arm"?.*code that is not of this package'):
        arm(Revolute()).digest()


def test_cycles_end():
    """Objects and lists that refer to themselves can be looked at."""
    ring = [1.0]
    one, two = Plain(ring), Plain(ring)
    one.k, two.k = two, one
    ring.append(one)
    assert look(one, ring) == look(one, ring)


def test_digest_is_the_same_in_every_process():
    """Neither the hash seed, nor addresses, nor the order of sets matter."""
    code = """
import functools, math, numpy as np
from rbd_ros.compiler import sin
from rbd_ros.compiler.content_digest import digest
from rbd_ros.joints import Revolute
from rbd_ros.samples.families import regular_tree
print(digest({'p', 'q', 'r'}, frozenset(('x', 'yy', 'zzz')), functools.partial(sin, 1), math.sin,
             np.eye(2), Revolute, Revolute(), {'a': 1, 2: 'b'}), regular_tree(3).digest())
"""
    seen = {subprocess.run([sys.executable, '-c', code], check=True, text=True,
                           timeout=patient(60), stdout=subprocess.PIPE,
                           env=os.environ | {'PYTHONHASHSEED': seed}
                           ).stdout for seed in ('1', '2', '77')}
    assert len(seen) == 1


REDEFINED = """
import sys
import rbd_ros
from rbd_ros.joints import Revolute
from rbd_ros.spatial import Motion, RigidInertia, rotx, Sym3, Vec3
class Geared(Revolute):
    def transform(self, q, t=0.0):
        return super().transform([GEAR * q[0]], t)
    def subspace(self, q, t=0.0):
        return (Motion.unit(2) * GEAR,)
builder = rbd_ros.ModelBuilder('arm')
builder.add_body('link', 'base', Geared(), rotx(1.5707963267948966), RigidInertia.from_com(
    2.0, Vec3(0.4, 0.0, 0.0), Sym3(0.1, 0.0, 0.0, 0.1, 0.0, 0.1)))
print(rbd_ros.Dynamics(builder.build(), backend='llvm').gravity([0.3])[0])
"""


def test_a_class_redefined_in_another_process(home):
    """The same script with another number gets other torques, from the same cache."""
    for gear in (1.0, 2.0, 1.0):
        done = subprocess.run([sys.executable, '-c', f'GEAR = {gear}\n{REDEFINED}'], check=True,
                              text=True, timeout=patient(60), stdout=subprocess.PIPE,
                              env=os.environ | {cache.VARIABLE: str(home)})
        assert float(done.stdout) == pytest.approx(torque(gear), rel=1e-12)


def test_library_robots_have_keys_and_users_have_none(caplog):
    """Robots of library joints are found without tracing; code of a user is traced, and said."""
    theirs, ours = (replace(model, name='said once') for model in (
        arm(geared(1.0)()), regular_tree(3)))
    assert len(kernel_keys.kernel_key(ours, 'x')) == 64
    with caplog.at_level('INFO', 'rbd_ros'):
        assert kernel_keys.kernel_key(theirs, 'x') == ''
        assert kernel_keys.kernel_key(replace(ours, name='other'), lambda: 1.0) == ''
        assert kernel_keys.kernel_key(theirs, 'y') == ''
    assert [record.message.count('traced at every start') for record in caplog.records] == [1, 1]


def test_version_is_part_of_the_key(monkeypatch):
    """Another version of the package does not find the code of this one."""
    before = kernel_keys.kernel_key(regular_tree(3), 'x')
    monkeypatch.setattr(kernel_keys, 'VERSION', '99.0')
    assert kernel_keys.kernel_key(regular_tree(3), 'x') != before
    monkeypatch.undo()
    assert kernel_keys.kernel_key(regular_tree(3), 'x') == before


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
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.samples import families as samples
from rbd_ros.sim.frames import Frames
from rbd_ros.sim.steps.engine import compiled_engine
model = samples.regular_tree(2)
for make in (
        lambda: Dynamics(model).compile('gravity'),
        lambda: compiled_engine(model, 'semi_implicit'), lambda: Frames(model),
        lambda: LawKernels(make_robot(model), driver_adds='none',
                           driver_knows_payload=False).compile('stop')):
    try:
        make()
    except Asked:
        pass
print(*keys, sys.modules['rbd_ros'].__file__)
"""


def asked(place, script):
    """Return what a script prints with the package at a place: folder or archive."""
    path = os.pathsep.join([str(place), *sys.path[1:]])
    return subprocess.run([sys.executable, '-c', script], check=True, timeout=patient(300),
                          text=True, stdout=subprocess.PIPE, cwd=place.parent,
                          env=os.environ | {'PYTHONPATH': path, 'PYTHONDONTWRITEBYTECODE': '1'}
                          ).stdout


def keys_of(place):
    """Return the keys of four kernels of the package at a place."""
    *keys, file = asked(place, KEYS).split()
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


#: file, and which of the four keys its change changes
SOURCES = {
    'sim/frames.py': {2}, 'sim/steps/step.py': {1}, 'control/kernels/joint_space.py': {3},
    **dict.fromkeys([f'control/kernels/{name}.py' for name in ('kernels', 'terms', 'tip')],
                    frozenset({3})),
    **dict.fromkeys((
        'spatial/transform.py', 'joints/axial.py', 'model/model.py', 'algorithms/rnea.py',
        'algorithms/linear/ltl.py', 'dynamics/table.py', 'compiler/graph/simplify.py',
        'compiler/native/modules.py'), frozenset(range(4)))}

# The package is imported once; a child then looks at the sources as if they were its own.
OF_CHANGED = """
import os
from pathlib import Path
import rbd_ros.compiler.native.cache
from rbd_ros import Dynamics, source_state
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.sim.steps.engine import compiled_engine
source_state.changed = lambda: []
for name in ('', *FILES):
    file = Path(source_state.__file__).parent / (name or '__init__.py')
    plain = file.read_text()
    file.write_text(plain + ('\\n_CHANGED = 1\\n' if name else ''))
    child = os.fork()
    if not child:
        break
    assert os.waitpid(child, 0)[1] == 0
    file.write_text(plain)
if child:
    raise SystemExit
"""


@pytest.fixture(scope='module')
def keys(tmp_path_factory):
    """Return the keys of the package as it is, and with one file changed, by its name."""
    place = copy_of(tmp_path_factory.mktemp('package') / 'here')
    lines = asked(place, f'FILES = {[*SOURCES]}\n{OF_CHANGED}\n{KEYS}').splitlines()
    return dict(zip(['', *SOURCES], (line.split()[:4] for line in lines), strict=True))


@pytest.mark.parametrize('file', SOURCES)
def test_sources_are_part_of_the_key(file, keys):
    """A change of a file changes the keys of all that is traced from it, and no others."""
    different = {k for k in range(4) if keys[''][k] != keys[file][k]}
    assert SOURCES[file] <= different <= SOURCES[file] | {1}


@pytest.fixture(scope='module')
def byte_code(tmp_path_factory):
    """Return two installations of byte code alone, that differ in one module."""
    first = copy_of(tmp_path_factory.mktemp('byte_code') / '0')
    second = first.with_name('1')
    for place in (first, second):
        if place is second:
            shutil.copytree(first, second)
            shutil.copy(PACKAGE / 'algorithms' / 'rnea.py', second / 'rbd_ros' / 'algorithms')
            with open(second / 'rbd_ros' / 'algorithms' / 'rnea.py', 'a') as handle:
                handle.write('_CHANGED = 1\n')
        without_sources(place)
    return first, second


@pytest.mark.sampled('configurations', 1)
@pytest.mark.parametrize('packed', [False, True], ids=['folder', 'archive'])
def test_installations_without_sources(packed, tmp_path, byte_code):
    """Byte code alone, also in an archive, gives keys that follow the code."""
    seen = []
    for place in byte_code:
        if packed:
            archive = tmp_path / f'{place.name}.zip'
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


@pytest.mark.sampled('configurations', 1)
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


def test_looking_tells_whose_code_it_is():
    """Library, standard library and NumPy are known; everything else is a user's."""
    assert not look(Revolute(), math.sin, np.eye, functools.partial(max, 1.0), Joint).foreign
    assert look(inner).foreign and look(Plain).foreign and look(own).foreign
