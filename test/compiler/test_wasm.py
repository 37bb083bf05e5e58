# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""WebAssembly: node.js computes what the processor computes."""

import json
import random
import shutil

from linted import ROOT
import numpy as np
import pytest
from random_graphs import ARITHMETIC, random_program
import rbd_ros
from rbd_ros.compiler import acos, asin, atan2, cos, exp, floor, log, sin, tan, tanh, trace
from rbd_ros.errors import SettingError, UnknownName

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from embedded_rig import error, ERRORS, node, robots, run_wasm, states  # noqa: I100
from rbd_ros.command_line.embedded.web import robot_script, web_project
from rbd_ros.command_line.sample_calls import sample_call
from rbd_ros.compiler.embedded.object_file import emit_object
from rbd_ros.compiler.embedded.processors import processor, WASM
from rbd_ros.compiler.embedded.wasm_module import Memory, wasm_module
from rbd_ros.compiler.embedded.web_module import web_module
from rbd_ros.compiler.native.target import binding
from rbd_ros.compiler.scalar import FLOAT64, scalar_type

pytestmark = pytest.mark.slow

QUANTITIES = ('inverse_dynamics', 'mass_matrix', 'forward_dynamics')


@pytest.fixture(scope='module')
def every_robot():
    """Return robots by name."""
    return robots()


@pytest.mark.parametrize('seed', range(4))
def test_random_programs(seed, tmp_path):
    """Random programs give what the graph gives over Python's floats, to the last bit."""
    rng = random.Random(seed)
    graph = trace(random_program(rng, (*ARITHMETIC, 'sqrt'), 80), {'x': 4}, name='random')
    x = np.random.default_rng(seed).uniform(-3.0, 3.0, (50, 4))
    x[-3:, 1] = np.inf, np.nan, -0.0
    found = run_wasm(tmp_path, web_module([graph], 'test', FLOAT64), 0, x)
    expected = np.array([graph.evaluate(row) for row in x.tolist()])
    np.testing.assert_array_equal(found, expected)


def test_parts(tmp_path):
    """A graph of many parts hands its values on, and reads all inputs before it writes."""
    def long(x):
        value = list(x)
        for k in range(600):
            value[k % 5] = value[k % 5] * 0.5 + 0.3 * sin(value[(k + 1) % 5])
        return {'y': value}
    graph = trace(long, {'x': 5}, name='long')
    module = web_module([graph], 'test', FLOAT64)
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 5))
    expected = np.array([graph.evaluate(row) for row in x.tolist()])
    np.testing.assert_allclose(run_wasm(tmp_path, module, 0, x), expected, atol=1e-13)
    call = module.calls[0]
    one = call._replace(outputs=tuple(a._replace(address=call.inputs[0].address)
                                      for a in call.outputs))
    np.testing.assert_allclose(run_wasm(tmp_path, module._replace(calls=(one,)), 0, x), expected,
                               atol=1e-13)


@pytest.mark.parametrize('scalar,tolerance', [('float64', 1e-15), ('float32', 2e-7)])
def test_functions(scalar, tolerance, tmp_path):
    """Functions are good to some units in the last place; angles beyond 1e6 rad are NaN."""
    functions = [sin, cos, tan, asin, acos, exp, log, tanh, lambda x: atan2(x, x - 0.5), floor]
    exact = [np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.exp, np.log, np.tanh,
             lambda x: np.arctan2(x, x - 0.5), np.floor]
    graph = trace(lambda x: {'y': [f(x) for f in functions]}, {'x': ()}, name='functions')
    module = web_module([graph], 'test', scalar_type(scalar))
    x = np.random.default_rng(1).uniform(0.01, 1.0, (300, 1)).astype(scalar)
    found = run_wasm(tmp_path, module, 0, x)
    for y, function in zip(found.T, exact, strict=True):
        assert error(y, function(x[:, 0].astype(float))) < tolerance
    large = np.array([[-1.5], [12.25], [99999.7], [1.1e6], [-1e9], [np.nan]], scalar)
    found = run_wasm(tmp_path, module, 0, large)
    sines = np.sin(large[:, 0].astype(float))
    assert error(found[:3, 0], sines[:3]) < tolerance and np.isnan(found[3:, :3]).all()
    np.testing.assert_array_equal(found[:, 9], np.floor(large[:, 0]))


@pytest.mark.parametrize('name', ['ur5', 'arm', 'tree'])
@pytest.mark.parametrize('scalar', ERRORS)
def test_robots(every_robot, name, scalar, tmp_path):
    """Every function of joint space gives what the processor's kernel gives."""
    robot = every_robot[name]
    kernels = [robot.kernel(quantity) for quantity in QUANTITIES]
    module = web_module([kernel.graph for kernel in kernels], 'robot', scalar_type(scalar))
    for k, kernel in enumerate(kernels):
        given = states(robot.model, kernel.graph, 12, scalar, seed=k)
        rows = np.array([np.concatenate([x.ravel() for x in state]) for state in given])
        found = run_wasm(tmp_path, module, k, rows.astype(scalar))
        for y, state in zip(found, given, strict=True):
            expected = kernel(*[x.astype(float) for x in state])
            scale = 1.0
            if kernel.name == 'forward_dynamics':   # errors grow with the condition of H
                scale = np.linalg.cond(robot.mass_matrix(state[0].astype(float)))
            assert error(y, np.ravel(expected)) < ERRORS[scalar] * scale, kernel.name


def test_project(every_robot, tmp_path):
    """The script and its example work as they are written, and see a wrong number."""
    robot = every_robot['arm']
    files = web_project(robot.model, [('gravity', None), ('center_of_mass', None)], prefix='arm')
    for name, content in files.items():
        (tmp_path / name).write_bytes(
            content.encode() if isinstance(content, str) else content)
    example = tmp_path / 'example.js'
    done = node(tmp_path, 'require("./example.js")')
    assert done.returncode == 0 and 'all as expected' in done.stdout, done.stdout + done.stderr
    assert 'gravity: 10 states' in done.stdout
    text = example.read_text()
    at = text.index('"outputs": {"tau": [') + len('"outputs": {"tau": [')
    example.write_text(text[:at] + '1e3, ' + text[at:])
    done = node(tmp_path, 'require("./example.js")')
    assert done.returncode == 1 and '1 functions differ' in done.stdout


def test_closed_loops(tmp_path):
    """The example of a robot with loops is about closed positions, where floats have digits."""
    model = rbd_ros.load_urdf(ROOT / 'urdf' / 'delta.urdf')
    robot = rbd_ros.Dynamics(model)
    graph = robot.kernel('forward_dynamics').graph
    positions = [sample_call(model, graph, seed).inputs['q'] for seed in range(4)]
    assert max(np.abs(robot.loop_error(q)).max() for q in positions) < 1e-9
    assert np.ptp(positions, axis=0).max() > 0.05
    files = web_project(model, [('forward_dynamics', None)], prefix='delta', scalar='float')
    for name, content in files.items():
        (tmp_path / name).write_bytes(
            content.encode() if isinstance(content, str) else content)
    done = node(tmp_path, 'require("./example.js")')
    assert done.returncode == 0 and 'all as expected' in done.stdout, done.stdout + done.stderr
    # 1e-7 of the floats, times 2e2 of the loops and some of the masses
    assert float(done.stdout.split('largest error')[1].split()[0]) < 2e-4


@pytest.mark.parametrize('call,text', [
    ('robot.gravity([1, 2])', 'gravity takes 2 arguments (q, gravity), got 1'),
    ('robot.gravity([1, 2], [0, 0, 1])', 'gravity: q has 7 numbers, got 2'),
    ('robot.gravity([1, 2, NaN, 4, 5, 6, 7], [0, 0, 1])',
     'gravity: q[2] is NaN, not a finite number'),
])
def test_script_refuses(every_robot, tmp_path, call, text):
    """A wrong argument is an error that names it."""
    files = web_project(every_robot['arm'].model, [('gravity', None)], prefix='arm')
    (tmp_path / 'arm.js').write_text(files['arm.js'])
    done = node(tmp_path, f'require("./arm.js").load().then((robot) => {call})'
                '.catch((error) => console.log(error.message))')
    assert text in done.stdout, done.stdout + done.stderr


def test_module_refuses():
    """What no module can be made of is refused with its reason."""
    graph = trace(lambda x: {'y': x + 1.0}, {'x': ()}, name='one')
    code = emit_object([graph], 'test', WASM, FLOAT64).code
    memory = Memory(1024, 4096)
    assert wasm_module(code, ['test_one'], memory).startswith(b'\0asm')
    with pytest.raises(ValueError, match='no function test_two .it has: test_one.'):
        wasm_module(code, ['test_two'], memory)
    with pytest.raises(ValueError, match='no object file of WebAssembly'):
        wasm_module(b'\x7fELF' + code, [], memory)
    llvm = binding()

    def compiled(text):
        machine = WASM.target.machine(2)
        module = llvm.parse_assembly(
            f'target triple = "{WASM.target.triple}"\n{text}', llvm.create_context())
        return machine.emit_object(module)
    with pytest.raises(ValueError, match='calls other, which nobody gives it'):
        wasm_module(compiled('declare void @other()\ndefine void @f() { call void @other()\n'
                             'ret void }'), [], memory)
    with pytest.raises(ValueError, match='has data'):
        wasm_module(compiled('@x = global i32 7\ndefine i32 @f() { %y = load i32, ptr @x\n'
                             'ret i32 %y }'), [], memory)


def test_stack_ends_in_an_error(tmp_path):
    """A stack that is too small is found by the engine before anything is overwritten."""
    def long(x):
        value = list(x)
        for k in range(1500):
            value[k % 5] = value[k % 5] * 0.7 + value[(k + 3) % 5] * value[(k + 1) % 5]
        return {'y': value}
    graph = trace(long, {'x': 5}, name='long')
    found = emit_object([graph], 'test', WASM, FLOAT64)
    assert found.stack > 0
    code = wasm_module(found.code, ['test_long'], Memory(16, 4096))
    (tmp_path / 'm.wasm').write_bytes(code)
    done = node(tmp_path, 'const m = new WebAssembly.Module(require("fs").readFileSync("m.wasm"));'
                'new WebAssembly.Instance(m).exports.test_long(1024, 1024)')
    assert done.returncode != 0 and 'memory access out of bounds' in done.stderr


def test_processors():
    """Names and types of numbers that are not known are refused."""
    assert processor('wasm').scalar(None) is FLOAT64
    with pytest.raises(UnknownName, match='wasm'):
        processor('wsm')
    with pytest.raises(SettingError, match='half'):
        WASM.scalar('half')


def test_pages_of_memory():
    """The memory has as many pages of 64 kB as arrays need."""
    graph = trace(lambda x: {'y': x[0]}, {'x': 20000}, name='first')
    module = web_module([graph], 'test', FLOAT64)
    assert 160000 < module.calls[0].outputs[0].address < 3 * 65536
    assert bytes([5, 3, 1, 0, 3]) in module.code     # section 5: one memory, no limit, three pages


def test_page(every_robot, tmp_path):
    """The script of the page about browsers computes the torques of the processor."""
    robot = every_robot['arm']
    (tmp_path / 'arm.js').write_text(robot_script(robot.model, [('gravity', None)], 'arm'))
    shutil.copy(ROOT / 'docs' / '_static' / 'gravity_page.js', tmp_path)
    degrees = np.random.default_rng(5).integers(-180, 181, (20, 7))
    done = node(tmp_path, f"""
        const page = require('./gravity_page.js');
        require('./arm.js').load().then((robot) => console.log(JSON.stringify({{
          joints: robot.joints, bars: [page.bar(-3, 12), page.bar(12, 12)],
          tau: {degrees.tolist()}.map((row) => page.torques(robot, row))}})));""")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert error(found['tau'], robot.gravity(np.radians(degrees))) < 1e-12
    assert found['joints'] == list(robot.model.independent_joint_names)
    assert found['bars'] == [{'left': 37.5, 'width': 12.5}, {'left': 50, 'width': 50}]
