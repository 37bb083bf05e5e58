# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Hand-over between the loop and Python: whole, in order, counted, and never two owners at once.

The source of the procedures is explored in all interleavings, on the weakest memory that acquire
and release allow; then machine code does the same in threads. Faults are planted and found.
"""

from __future__ import annotations

import inspect
from itertools import combinations
from types import SimpleNamespace

from interleavings import Explorer, FUNCTIONS, Violation
import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind
from rbd_ros.compiler.shared_words import Words
from rbd_ros.loop import handover

SOURCE = inspect.getsource(handover)


def instrumented(*changes):
    """Return the procedures on doubles, each given line of their source replaced by another."""
    text = SOURCE
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    space = {'__name__': handover.__name__}
    exec(compile(text, 'handover', 'exec'), space)
    space.update(FUNCTIONS)
    return SimpleNamespace(**{name: value for name, value in space.items() if name[0] != '_'})


# --- the explorer itself ----------------------------------------------------------------------


def test_the_explorer_knows_stores_that_are_delayed():
    """Each of two threads may miss what the other has stored before: as processors do."""
    def program(own, other):
        def run(shared):
            words = shared.words()
            words.ask('store', own, 1)
            return words.ask('load', other)
        return run
    found = Explorer(program(0, 8), program(8, 0)).outcomes()
    assert {each[:2] for each in found} == {(0, 0), (0, 1), (1, 0), (1, 1)}


@pytest.mark.parametrize('weak', [(), ('release',), ('acquire',)])
def test_the_explorer_knows_order(weak):
    """Who acquires what was released sees what came before, and only then."""
    def write(shared):
        shared.words().ask('store', 8, 5)
        shared.words().ask('store', 0, 1)

    def read(shared):
        return shared.words().ask('load', 0), shared.words().ask('load', 8)
    found = {each[1] for each in Explorer(write, read, weak=weak).outcomes()}
    assert found == {(0, 0), (0, 5), (1, 5), *([(1, 0)] if weak else [])}


@pytest.mark.parametrize(('how', 'weak', 'races'), [
    ('store', (), False), ('put', (), True), ('store', ('release',), True),
    ('exchange', (), False), ('add', ('acquire',), True)])
def test_the_explorer_finds_races(how, weak, races):
    """A plain number is handed over by a release, and by nothing less."""
    def write(shared):
        shared.rows(1, 1)[0, 0] = 5
        shared.words().ask(how, 0, 1)

    def read(shared):
        return shared.rows(1, 1)[0, 0] if shared.words().ask('load', 0) else None
    explorer = Explorer(write, read, weak=weak)
    if not races:
        assert {each[1] for each in explorer.outcomes()} == {None, 5}
        return
    with pytest.raises(Violation, match=r'race.*\nthread 0: .*put'):
        explorer.outcomes()


def test_the_explorer_counts_additions_and_refuses_two_writers():
    """A change in one step may be made by both, a store may not."""
    def program(how):
        return lambda shared: [shared.words().ask(how, 0, 1) for _ in range(2)] and None
    found = Explorer(program('add'), program('add'),
                     after=lambda shared: shared.words().ask('load', 0)).outcomes()
    assert found == {(None, None, 4)}
    with pytest.raises(Violation, match='two writers'):
        Explorer(program('store'), program('add')).outcomes()


# --- all interleavings ------------------------------------------------------------------------

WIDTH = 2


def value(k):
    """Return a row that shows whether it is whole."""
    return [float(k), -float(k)]


def mailbox(h, weak=()):
    """Ask on one side and answer on the other, in the same letters."""
    def python(shared):
        words, letters, heard, posted = shared.words(), shared.rows(1, WIDTH), [], 0
        for _ in range(4):
            if not h.is_answered(words):
                continue
            if posted:
                heard.append((letters[0, 0], letters[0, 1]))
            posted += 1
            letters[0, 0], letters[0, 1] = value(posted)
            h.post(words)
        assert heard == [(10.0 * k, -10.0 * k) for k in range(1, len(heard) + 1)], heard
        return len(heard), posted

    def loop(shared):
        words, letters, read = shared.words(), shared.rows(1, WIDTH), []
        for _ in range(4):
            if not h.is_posted(words):
                continue
            row = letters[0, 0], letters[0, 1]
            read.append(row)
            letters[0, 0], letters[0, 1] = 10.0 * row[0], 10.0 * row[1]
            h.answer(words)
        assert read == [tuple(value(k)) for k in range(1, len(read) + 1)], read
        return len(read)
    return Explorer(python, loop, weak=weak)


def ring(h, weak=()):
    """More rows than there is room for, taken or lost."""
    pushed, capacity = 4, 2

    def loop(shared):
        words, rows = shared.words(), shared.rows(capacity, WIDTH)
        for k in range(1, pushed + 1):
            h.push(words, rows, value(k))

    def taken(shared, turns):
        words, rows, found, row, all_ = shared.words(), shared.rows(capacity, WIDTH), [0.0], [
            0.0] * WIDTH, []
        for _ in range(turns):
            h.pop_row(words, rows, row, found)
            if found[0]:
                assert row == value(row[0]) and row[0] > 0.0, f'torn: {row}'
                all_.append(row[0])
        assert all_ == sorted(set(all_)), f'order: {all_}'
        return tuple(all_)

    def after(shared):
        lost = [0.0]
        h.lost_rows(shared.words(), lost)
        return taken(shared, capacity + 1), lost[0]

    def checked(explorer):
        for _, before, (rest, lost) in explorer.outcomes():
            all_ = [*before, *rest]
            assert all_ == sorted(set(all_)), f'order: {all_}'
            assert len(all_) + lost == pushed, f'lost without a count: {all_}, {lost}'
            assert all_[:capacity] == [1.0, 2.0], f'the oldest stay: {all_}'
            yield len(before), lost
    explorer = Explorer(loop, lambda shared: taken(shared, 4), after=after, weak=weak)
    explorer.checked = lambda: set(checked(explorer))
    return explorer


def latest(h, weak=()):
    """Publish some vectors, and look for the newest in turns, of which some find nothing new."""
    published = 4

    def loop(shared):
        for k in range(1, published + 1):
            h.publish(shared.words(), shared.rows(3, WIDTH), value(k))

    def taken(shared, turns):
        found, row, all_ = [0.0], [0.0] * WIDTH, []
        for _ in range(turns):
            h.take_latest(shared.words(), shared.rows(3, WIDTH), row, found)
            if found[0]:
                assert row == value(row[0]) and row[0] > 0.0, f'torn: {row}'
                all_.append(row[0])
        assert all_ == sorted(set(all_)), f'order: {all_}'
        return tuple(all_)

    def checked(explorer):
        for _, before, rest in explorer.outcomes():
            all_ = [*before, *rest]
            assert all_ == sorted(set(all_)), f'order: {all_}'
            assert all_[-1:] == [published], f'the newest is missing: {all_}'
            assert len(rest) <= 1
            yield before
    explorer = Explorer(loop, lambda shared: taken(shared, 4),
                        after=lambda shared: taken(shared, 2), weak=weak)
    explorer.checked = lambda: set(checked(explorer))
    return explorer


def explore(make, *changes, weak=()):
    """Return what can happen, and the number of states; fails if anything must not."""
    explorer = make(instrumented(*changes), weak)
    found = explorer.checked() if hasattr(explorer, 'checked') else explorer.outcomes()
    return found, explorer.states


def test_mailbox_in_all_interleavings():
    """From nothing at all to every request answered."""
    found, states = explore(mailbox)
    assert {each[:2] for each in found} >= {((0, 1), 0), ((0, 1), 1), ((3, 4), 3), ((3, 4), 4)}
    assert states > 1000


def test_ring_in_all_interleavings():
    """With losses and without, taken at once and late."""
    found, states = explore(ring)
    assert found >= {(0, 2.0), (4, 0.0), (1, 1.0), (2, 2.0)}
    assert states > 1000


def test_latest_in_all_interleavings():
    """Each of the vectors is seen or passed over."""
    found, states = explore(latest)
    assert found == {each for n in range(5) for each in combinations((1.0, 2.0, 3.0, 4.0), n)}
    assert states > 1000


@pytest.mark.parametrize('make', [mailbox, ring, latest])
@pytest.mark.parametrize('weak', ['release', 'acquire'])
def test_without_order_each_is_found_out(make, weak):
    """A strong processor would hide it."""
    with pytest.raises(AssertionError, match='race'):
        explore(make, weak=[weak])


@pytest.mark.parametrize('backend', ['python', 'llvm'])
def test_python_is_a_side(backend):
    """Through bound procedures: words begin with zeros, and nothing else is needed."""
    words, letters, found = Words(handover.WORDS), np.zeros(2), np.zeros(1)
    post = bind(handover.post, words.memory, backend=backend)
    look = bind(handover.look_for_answer, words.memory, found, backend=backend)
    answer = bind(handover.answer, words.memory, backend=backend)
    seen = []
    for step in (look, post, look, answer, look):
        step()
        seen.append(found[0])
    assert seen == [1.0, 1.0, 0.0, 0.0, 1.0]
    words, rows, found = Words(handover.WORDS), np.zeros((2, 2)), np.zeros(1)
    row = np.ones(2)
    push = bind(handover.push, words.memory, rows, row, backend=backend)
    pop = bind(handover.pop_row, words.memory, rows, letters, found, backend=backend)
    for _ in range(3):
        push()
    bind(handover.lost_rows, words.memory, found, backend=backend)()
    assert found[0] == 1.0
    for wanted in (1.0, 1.0, 0.0):
        pop()
        assert found[0] == wanted and letters.tolist() == [1.0, 1.0]
