# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Code for Cortex-M: it is whole, and computes what the processor computes.

Where a cross compiler and QEMU are installed (gcc-arm-none-eabi, qemu-system-arm), the firmware is
built and run. Everywhere, the text that LLVM turns into it runs on this processor.
"""

import re
import shutil
import struct
import subprocess

import numpy as np
import pytest
from rbd_env.pace import patient
from rbd_ros.compiler import atan2, floor, trace
from rbd_ros.errors import SettingError

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from embedded_rig import error, ERRORS, robots, states  # noqa: I100
from rbd_ros.command_line.embedded.firmware import firmware_project, STATES
from rbd_ros.command_line.sample_calls import sample_call
from rbd_ros.compiler.embedded.object_file import emit_object, module_text
from rbd_ros.compiler.embedded.processors import CORTEX_M4, CORTEX_M7
from rbd_ros.compiler.native.loader import Code
from rbd_ros.compiler.native.target import host
from rbd_ros.compiler.scalar import FLOAT32, FLOAT64, scalar_type

pytestmark = pytest.mark.slow

COMPILER, EMULATOR = shutil.which('arm-none-eabi-gcc'), shutil.which('qemu-system-arm')
QUANTITIES = ('inverse_dynamics', 'mass_matrix', 'forward_dynamics')
CASES = [(CORTEX_M4, 'float'), (CORTEX_M7, 'double'), (CORTEX_M7, 'float')]
NAMES = [f'{processor.name}-{scalar}' for processor, scalar in CASES]


@pytest.fixture(scope='module')
def every_robot():
    """Return robots by name."""
    return robots()


def symbols(code):
    """Return the names that an ELF file of 32 bits defines for others, and those that it needs."""
    table = struct.unpack_from('<I', code, 32)[0]
    size, count = struct.unpack_from('<HH', code, 46)
    sections = [struct.unpack_from('<10I', code, table + k * size) for k in range(count)]
    defined, needed = [], []
    for section in sections:
        if section[1] != 2:         # a table of symbols
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 16):
            name, _, _, info, _, place = struct.unpack_from('<IIIBBH', code, at)
            text = code[names + name:code.index(b'\0', names + name)].decode()
            if info >> 4 and text:      # not local
                (defined if place else needed).append(text)
    return defined, needed


@pytest.mark.parametrize('processor,scalar', CASES, ids=NAMES)
def test_object(every_robot, processor, scalar):
    """An object file is one for ARM, has the functions and needs no others."""
    graphs = [every_robot['arm'].kernel(name).graph for name in QUANTITIES]
    code = emit_object(graphs, 'arm', processor, scalar_type(scalar)).code
    assert code[:5] == b'\x7fELF\x01' and struct.unpack_from('<HH', code, 16) == (1, 40)
    assert symbols(code) == ([f'arm_{name}' for name in QUANTITIES], [])


def test_functions_need_no_library():
    """Other functions are part of the code, where they can be."""
    graph = trace(lambda x: {'y': [atan2(x, x + 1.0), floor(x)]}, {'x': ()}, name='both')
    for scalar in (FLOAT64, FLOAT32):
        assert symbols(emit_object([graph], 'f', CORTEX_M7, scalar).code) == (['f_both'], [])
    with pytest.raises(SettingError, match='both needs atan2, .* choose cortex-m7'):
        emit_object([graph], 'f', CORTEX_M4, FLOAT32)
    rounding = trace(lambda x: {'y': floor(x)}, {'x': ()}, name='down')
    assert symbols(emit_object([rounding], 'f', CORTEX_M4, FLOAT32).code) == (['f_down'], [])
    with pytest.raises(SettingError, match='cortex-m4 has no instructions for double: use float'):
        CORTEX_M4.scalar('double')


def here(graphs, processor, scalar):
    """Return functions of rows of arguments, from the processor's text run on this one."""
    import ctypes
    text = module_text(graphs, 'f', processor, scalar_type(scalar))
    code = Code([host().emit(text)])
    dtype = np.dtype(scalar_type(scalar).name)

    def runner(graph):
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(
            graph.inputs + graph.outputs))(code.address(f'f_{graph.name}'))

        def run(state):
            given = [np.ascontiguousarray(x, dtype) for x in state]
            found = [np.full(a.size, np.nan, dtype) for a in graph.outputs]
            function(*[x.ctypes.data for x in [*given, *found]])
            return np.concatenate(found)
        return run
    return code, [runner(graph) for graph in graphs]


@pytest.mark.parametrize('name', ['ur5', 'arm', 'tree'])
@pytest.mark.parametrize('processor,scalar', CASES, ids=NAMES)
def test_text_runs_here(every_robot, processor, scalar, name):
    """The text of a module, run by this processor, gives what the kernels give."""
    robot, dtype = every_robot[name], scalar_type(scalar).name
    kernels = [robot.kernel(quantity) for quantity in QUANTITIES]
    code, functions = here([kernel.graph for kernel in kernels], processor, scalar)
    for kernel, function in zip(kernels, functions, strict=True):
        for state in states(robot.model, kernel.graph, 12, dtype, seed=7):
            expected = kernel(*[x.astype(float) for x in state])
            scale = 1.0
            if kernel.name == 'forward_dynamics':   # errors grow with the condition of H
                scale = np.linalg.cond(robot.mass_matrix(state[0].astype(float)))
            assert error(function(state), np.ravel(expected)) < ERRORS[dtype] * scale
    del code


def test_floor_of_a_processor_without_it():
    """Rounding down by sums is right for numbers of every size and sign."""
    graph = trace(lambda x: {'y': floor(x)}, {'x': ()}, name='down')
    code, (function,) = here([graph], CORTEX_M4, 'float')
    x = np.array([0.0, -0.0, 0.5, -0.5, 0.9999999, -0.9999999, 1.0, -1.0, 2.5, -2.5, 4194303.5,
                  -4194303.5, 8388609.0, -8388609.0, 3e38, np.inf, -np.inf], np.float32)
    found = np.array([function([value])[0] for value in x])
    np.testing.assert_array_equal(found, np.floor(x))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(np.floor(x)))
    assert np.isnan(function([np.nan])[0])
    del code


def built(folder, files):
    """Write a project and build it; what the compiler says must be nothing."""
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    done = subprocess.run(['make', '-C', folder], capture_output=True, text=True, check=False,
                          timeout=patient(60))
    assert done.returncode == 0 and 'warning' not in done.stderr, done.stderr


def emulated(folder):
    """Return the exit code of the firmware in the emulator, and what it says."""
    done = subprocess.run(['make', '-s', '-C', folder, 'run'], capture_output=True, text=True,
                          check=False, timeout=patient(60), stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(COMPILER is None or EMULATOR is None or shutil.which('make') is None,
                    reason='this machine has no arm-none-eabi-gcc, qemu-system-arm and make')
@pytest.mark.parametrize('processor,scalar', CASES, ids=NAMES)
def test_firmware(every_robot, processor, scalar, tmp_path):
    """The firmware gives what the kernels of this processor give, and sees a wrong number."""
    robot, kind = every_robot['ur5'], scalar_type(scalar)
    files = firmware_project(robot.model, [(name, None) for name in QUANTITIES], prefix='arm',
                             processor=processor, scalar=scalar)
    built(tmp_path, files)
    code, said = emulated(tmp_path)
    assert code == 0 and 'all as expected' in said, said
    for name in QUANTITIES:
        kernel = robot.kernel(name)
        largest = int(re.search(rf'^{name}: largest error (\d+) units', said, re.MULTILINE)[1])
        # in units of 1e-9 and 1e-15: 1e-5 and 1e-12; forward dynamics is worse by the condition
        bound = 10_000 if scalar == 'float' else 1_000
        assert largest < bound * (20 if name == 'forward_dynamics' else 1)
        for seed in range(STATES):
            line = re.search(rf'^{name} of state {seed}:(.*)$', said, re.MULTILINE)[1]
            call = sample_call(robot.model, kernel.graph, seed, kind.name)
            expected = np.ravel(kernel(*[x.reshape(a.shape) for x, a in zip(
                call.inputs.values(), kernel.inputs, strict=True)]))
            found = np.array([float(word) for word in line.split()])
            limit = 2e-4 if scalar == 'float' else 1e-11
            assert error(found, expected) < limit
    text = files['main.c']
    at = text.index('_expected[] = {\n') + len('_expected[] = {\n')
    end = text.index(',', at)
    built(tmp_path, {**files, 'main.c': text[:at] + '1234' + text[end:]})
    code, said = emulated(tmp_path)
    assert code != 0 and 'results differ' in said, said
