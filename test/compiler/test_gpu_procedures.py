# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Procedures on a GPU without one: the emulation does what Python does with the same source."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np
import pytest
from rbd_ros.compiler import compile as compile_graph, sin, trace
from rbd_ros.compiler.language.foreign import Foreign
from rbd_ros.compiler.language.octets import Bytes, get_u8
from rbd_ros.compiler.procedure import bind, Kernel, Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.errors import ShapeError

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from device_arrays import Shown  # noqa: I100
from rbd_ros.compiler.gpu import targets
from rbd_ros.compiler.gpu.arrays import DeviceArray
from rbd_ros.compiler.gpu.dialect import NVIDIA
from rbd_ros.compiler.gpu.emulation import EmulatedDevice
from rbd_ros.compiler.gpu.procedures.device_procedure import Bindings, DeviceProcedure
from rbd_ros.compiler.gpu.procedures.places import Memory, Places
from rbd_ros.compiler.gpu.procedures.procedure_program import (
    Called, ENTRIES, procedure_program)

COUNT = 70          # two tiles and a part of one
SIZES = {'n': 3}


class Inner(Record):
    """A record inside."""

    total: float = field('', '', 'sum of all')
    last: Vector = field('n', '', 'the last numbers')


class State(Record):
    """What a thread remembers."""

    steps: float = field('', '', 'how many')
    side: float = field('', '', 'a sign', 1.0)
    table: Matrix = field('4 n', '', 'the last four')
    inner: Inner = group(Inner)
    other: Inner = group(Inner)


class Gains(Record):
    """What all threads share."""

    gain: float = field('', '', 'a factor', 0.5)
    offset: Vector = field('n', '', 'a sum', 0.25)


class Turned(NamedTuple):
    """A kernel with its arrays."""

    run: Kernel
    angle: Vector
    result: Vector


def keep(x: Inner, values: Vector, g: Gains) -> float:
    """Add to a record that is one of several."""
    found = 0.0
    for j in range(len(values)):
        x.last[j] = g.gain * values[j] + g.offset[j]
        found += x.last[j]
    x.total += found
    return found


def advance(x: State, g: Gains, turned: Turned, room: Vector) -> None:
    """Use numbers, arrays, records, a kernel and all functions."""
    k = int(x.steps) - 4 * math.floor(x.steps / 4.0)
    for j in range(len(turned.angle)):
        turned.angle[j] = x.other.last[j] + 0.1 * j
    turned.run()
    a = keep(x.inner, turned.result, g)
    b = keep(x.other, x.inner.last, g)
    for j in range(len(turned.angle)):
        x.table[k, j] = math.sin(a) + math.cos(b) * math.exp(-abs(a)) + math.atan2(a, 1.0 + b * b)
    room[0] = max(a, b) if math.isfinite(a) and a < b or x.side > 0.0 else min(a, b)
    x.side = math.copysign(math.sqrt(abs(x.side)), -x.side)
    x.steps += 1.0


def things(seed: int = 0):
    """Return what the procedure is bound to."""
    rng = np.random.default_rng(seed)
    graph = trace(lambda angle: {'result': [sin(a) * (1.0 + a) for a in angle]}, {'angle': 3},
                  name='turned')
    bound = compile_graph(graph).bind()
    x, g = State(SIZES), Gains(SIZES)
    x.memory[2:] = rng.uniform(-1.0, 1.0, x.memory.size - 2)
    turned = Turned(bound, bound.inputs['angle'], bound.outputs['result'])
    return (x, g, turned, np.zeros(2)), bound, graph


CHOICES = {
    'own': {1: Memory.COMMON},
    'near': {0: Memory.NEAR, 1: Memory.COMMON, 2: Memory.NEAR, 3: Memory.NEAR},
    'mixed': {0: lambda path, of: Memory.OWN if path in ('table', 'inner.last') else Memory.NEAR,
              1: Memory.COMMON, 2: Memory.OWN, 3: Memory.NEAR}}


@pytest.mark.parametrize('which', CHOICES)
def test_every_thread_does_what_python_does(which):
    """Each on numbers of its own, in whatever memory, with a record after every second step."""
    given, bound, graph = things()
    x, room = given[0], given[3]
    watched = [room[:1], x.inner.last]
    batch = DeviceProcedure(EmulatedDevice(), advance, Bindings(
        given, CHOICES[which], [(bound, graph)], watched), cache=False).batch(COUNT)
    starts = np.random.default_rng(1).uniform(-1.0, 1.0, (COUNT, x.memory.size))
    starts[:, :2] = 0.0, 1.0
    np.testing.assert_array_equal(batch.read(x.memory), np.tile(x.memory, (COUNT, 1)))
    batch.write(x.memory, starts)
    first, second = batch.run(2, 1), batch.run(4, 2)
    ends = batch.read(x.memory)
    assert first.shape == (COUNT, 2, 4) and second.shape == (COUNT, 2, 4)
    run = bind(advance, *given, backend='python')
    for i in range(COUNT):
        x.memory[:] = starts[i]
        seen = []
        for _ in range(6):
            run()
            seen.append([room[0], *x.inner.last])
        np.testing.assert_allclose(ends[i], x.memory, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(first[i], seen[:2], rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(second[i], [seen[3], seen[5]], rtol=1e-13, atol=1e-14)


def test_what_all_threads_share():
    """It is read at a refresh, and no thread writes it."""
    given, bound, graph = things()
    x, gains = given[:2]
    batch = DeviceProcedure(EmulatedDevice(), advance, Bindings(
        given, CHOICES['own'], [(bound, graph)]), cache=False).batch(2)
    gains.gain = 0.0
    batch.refresh()
    batch.run()
    np.testing.assert_array_equal(batch.read(x.inner.last), np.full((2, 3), 0.25))
    with pytest.raises(ShapeError, match=r'all threads share these numbers.*refresh\(\)'):
        batch.write(gains.offset, np.zeros(3))


def write_common(x: Vector, y: Vector) -> None:
    """Write to the first."""
    x[0] = y[0]


def call_kernel(run: Kernel, x: Vector) -> None:
    """Call a kernel."""
    run()


def call_c(run: Foreign, x: Vector) -> None:
    """Call a function of C."""
    x[0] = run()


def read_bytes(data: Bytes, x: Vector) -> None:
    """Read a byte."""
    x[0] = get_u8(data, 0)


@pytest.mark.parametrize('function, given, choices, reason', [
    (write_common, [np.zeros(1), np.zeros(1)], {0: Memory.COMMON}, 'all threads share'),
    (call_kernel, [lambda: None, np.zeros(1)], {}, 'calls run, of which no graph was given'),
    (call_c, [Foreign(1), np.zeros(1)], {}, 'calls a function of C'),
    (read_bytes, [np.zeros(4, np.uint8), np.zeros(1)], {}, 'bytes|float64')])
def test_what_cannot_run_there_is_refused(function, given, choices, reason):
    """With the name of the procedure."""
    with pytest.raises(TypeError, match=reason):
        DeviceProcedure(EmulatedDevice(), function, Bindings(given, choices, []), cache=False)


def test_arguments_of_a_batch():
    """Numbers that do not fit, and records that do not divide the steps."""
    given, bound, graph = things()
    procedure = DeviceProcedure(EmulatedDevice(), advance, Bindings(
        given, {}, [(bound, graph)]), cache=False)
    with pytest.raises(ShapeError, match='give at least one'):
        procedure.batch(0)
    batch = procedure.batch(3)
    with pytest.raises(ShapeError, match=r'values has shape \(2, 3\).*\(3, 3\).*\(3,\) for all'):
        batch.write(given[0].inner.last, np.zeros((2, 3)))
    for steps, every in ((5, 2), (0, 1), (2.0, 1), (2, 0.5), (-1, None)):
        with pytest.raises(ShapeError, match='whole numbers, of which the second divides the '):
            batch.run(steps, every)
    with pytest.raises(KeyError, match='no place'):
        batch.read(np.zeros(3))
    other = DeviceProcedure(EmulatedDevice(), advance, Bindings(
        given, CHOICES['near'], [(bound, graph)]), cache=False)
    with pytest.raises(ShapeError, match='at other places'):
        batch.run(procedure=other)


def made_batch(device=None, count=COUNT):
    """Return threads with records of two kinds of memory, and one of what they are bound to."""
    given, bound, graph = things()
    procedure = DeviceProcedure(device or EmulatedDevice(), advance, Bindings(
        given, CHOICES['mixed'], [(bound, graph)], [given[3][:1], given[0].inner.last]),
        cache=False)
    return procedure.batch(count), given[0]


@pytest.mark.parametrize('lie', [
    lambda a: a, np.asfortranarray, lambda a: np.repeat(a, 2, axis=0)[::2],
    lambda a: a[::-1].copy()[::-1], lambda a: a[:, ::-1].copy()[:, ::-1]])
def test_arrays_on_the_device(lie):
    """They are read as they lie, over all kinds of memory, and records come as such arrays."""
    (batch, x), (other, y) = made_batch(), made_batch()
    starts = np.random.default_rng(1).uniform(-1.0, 1.0, (COUNT, x.memory.size))
    starts[:, :2] = 0.0, 1.0
    batch.write(x.memory, starts)
    other.write(y.memory, Shown(lie(starts)))
    np.testing.assert_array_equal(other.read(y.memory), starts)
    found = other.run(4, 2, like=Shown(starts))
    assert isinstance(found, DeviceArray) and found.shape == (COUNT, 2, 4)
    np.testing.assert_array_equal(found.numpy(), batch.run(4, 2))
    # one row for all threads
    batch.write(x.table, np.arange(12.0).reshape(4, 3))
    other.write(y.table, Shown(np.asfortranarray(np.arange(12.0).reshape(3, 4).T).copy('C')))
    expected = np.arange(12.0).reshape(3, 4).T
    np.testing.assert_array_equal(batch.read(x.table)[-1], np.arange(12.0).reshape(4, 3))
    np.testing.assert_array_equal(other.read(y.table), np.tile(expected, (COUNT, 1, 1)))


def test_arrays_that_do_not_fit():
    """They are refused by name, with what was expected."""
    batch, x = made_batch(count=3)
    for values, message in (
            (Shown(np.zeros((3, 3), 'f4')), 'speed holds float32, advance computes in float64'),
            (Shown(np.zeros((2, 3))), r'speed has shape \(2, 3\), expected \(3, 3\), or \(3,\)'),
            (Shown(np.zeros((3, 1))), r'speed has shape \(3, 1\), expected \(3, 3\), or \(3,\)'),
            ('fast', r'speed must be an array of real numbers of shape \(3,\), got')):
        with pytest.raises(ShapeError, match=message):
            batch.write(x.inner.last, values, name='speed')
    with pytest.raises(ShapeError, match='elements of a state of table are not evenly spaced'):
        batch.write(x.table, Shown(np.zeros((3, 4, 6))[:, :, :3]), name='table')
    with pytest.raises(ShapeError, match='like is a ndarray in the memory of the process'):
        batch.run(like=np.zeros(3))


class Noted(EmulatedDevice):
    """An emulation that notes on which streams something is started, and what waits for what."""

    def __init__(self):
        super().__init__()
        self.notes = []

    def prepared(self, function, count, words, stream):
        """Return what runs a kernel."""
        self.notes.append(('start', stream))
        return super().prepared(function, count, words, stream)

    def wait_for(self, other, stream):
        """Note who waits for whom."""
        self.notes.append(('wait', other, stream))

    def synchronize(self, stream=None):
        """Note that all waits."""
        self.notes.append(('finish', stream))


def test_streams():
    """What works on the same threads follows one another, on whatever stream; only NumPy waits."""
    device = Noted()
    batch, x = made_batch(device, 2)
    device.notes.clear()
    batch.write(x.inner.last, Shown(np.zeros((2, 3)), stream=5), stream=7)
    batch.run(like=Shown(np.zeros(1)), stream=7)
    assert device.notes == [('wait', 5, 7), ('wait', 0, 7), ('start', 7), ('start', 7)]
    device.notes.clear()
    batch.run(stream=9)
    assert device.notes == [('wait', 7, 9), ('start', 9), ('finish', 9)]
    device.notes.clear()
    batch.read(x.inner.last)
    assert device.notes == [('wait', 9, 0), ('start', 0), ('finish', 0)]


def test_a_kernel_that_is_not_needed_gives_nan():
    """It is left out of the text, and a call of it is seen in its results."""
    given, bound, _ = things()
    batch = DeviceProcedure(EmulatedDevice(), advance, Bindings(
        given, {1: Memory.COMMON}, [(bound, None)]), cache=False).batch(1)
    batch.run()
    assert np.isnan(batch.read(given[2].result)).all()


def text_of(dialect, choices):
    """Return the modules of the procedure."""
    given, bound, graph = things()
    places = Places()
    for k, each in enumerate(given[:2]):
        places.add_record(each, choices.get(k, Memory.OWN))
    for array in (bound.inputs['angle'], bound.outputs['result'], given[3]):
        places.add_array(array, choices.get(2, Memory.OWN))
    called = {id(bound): Called(graph, bound.inputs, bound.outputs)}
    return procedure_program(advance, given, places, called, [], dialect, 128)


def test_ptx():
    """NVIDIA's text: kernels with their limits, and each kind of memory by its own words."""
    text, graphs = text_of(NVIDIA, CHOICES['near'])
    ptx = targets.emit(graphs, targets.PTX, assembly=True, procedures=text).decode()
    assert re.findall(r'\.visible \.entry (\w+)\(', ptx) == list(ENTRIES)
    assert ptx.count('.maxntid 128') == ptx.count('.maxnreg 128') == len(ENTRIES)
    run = ptx[ptx.index('.entry rbd_run'):ptx.index('.entry rbd_fill')]
    assert 'ld.global.nc.b64' in ptx       # what all threads share
    assert '.local' in run and 'st.local' in ptx and 'ld.global.b64' in run
    assert not re.search(r'\b(ld|st)\.(b64|f64)', ptx)      # none of unknown memory
    assert not re.search(r'\.extern', ptx)
    assert not re.search(r'^\.(visible )?\.func.*[^\w$(]\.', ptx, re.M)
