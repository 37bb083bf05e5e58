# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
All that two threads or more can do to each other: every interleaving, on every processor.

The memory is that of C and LLVM for acquire and release. Of a word all values that were ever
written are kept, and a thread may read any of them that is not older than one that it knows of: so
stores that are delayed or seen in another order are explored, not only those of this machine. What
a thread knows travels with a release to whoever acquires it, and not otherwise.

Plain accesses need no interleaving of their own. Two of them to one place by two threads, one of
them a write, must be ordered by what was released and acquired; where they are, no processor can
show another value than the last one, and where they are not, that is a race, which is reported. It
is found in whatever order they happen to be made here.

Programs are ordinary functions on doubles of arrays. One is continued by running it again from its
beginning, with the answers that it got before: what it will do depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Clock = tuple[int, ...]
Place = tuple[Any, ...]


class Violation(AssertionError):
    """Something that must not happen, and the steps that lead there."""


class _Pause(Exception):
    """The next access of a program."""


class _Written(NamedTuple):
    """
    A value of a place.

    :param thread: who wrote it, None for the first value.
    :param time: of that thread.
    :param how: 'put', 'store' or 'change'.
    :param clock: what its reader may know of the time of each thread, None if nothing.
    :param seen: and of the values of each place.
    """

    value: Any
    thread: int | None
    time: int
    how: str
    clock: Clock | None
    seen: tuple[tuple[Place, int], ...]


class _Thread(NamedTuple):
    """What one thread has been answered, and what it knows."""

    answers: tuple[Any, ...]
    clock: Clock
    seen: tuple[tuple[Place, int], ...]


class _State(NamedTuple):
    """
    Everything.

    :param values: of each place, in their order.
    :param reads: times of the last reads of each place, by thread and how.
    """

    threads: tuple[_Thread, ...]
    values: tuple[tuple[Place, tuple[_Written, ...]], ...] = ()
    reads: tuple[tuple[tuple[Place, int, str], int], ...] = ()


_FIRST = _Written(0, None, 0, 'put', None, ())


class Shared:
    """What a program is given: doubles of arrays that ask the explorer."""

    def __init__(self, answers: Sequence[Any]) -> None:
        self._answers = list(answers)[::-1]

    def access(self, *what: Any) -> Any:
        """Return the answer to an access, or end the program here."""
        if self._answers:
            return self._answers.pop()
        raise _Pause(what)

    def words(self, name: str = 'words') -> Words:
        """Return a row of bytes."""
        return Words(self, name)

    def rows(self, count: int, width: int, name: str = 'rows') -> Rows:
        """Return a matrix."""
        return Rows(self, name, count, width)


class Words:
    """A double of bytes, for the functions of the language."""

    def __init__(self, shared: Shared, name: str) -> None:
        self._shared, self._name = shared, name

    def ask(self, how: str, at: int, *value: int) -> Any:
        """Access a word."""
        return self._shared.access(how, (self._name, at), *value)


class Rows:
    """A double of a matrix, whose elements are plain."""

    def __init__(self, shared: Shared, name: str, count: int, width: int) -> None:
        self._shared, self._name, self._shape = shared, name, (count, width)

    def __len__(self) -> int:
        return self._shape[0]

    def _place(self, at: tuple[int, int]) -> Place:
        if not all(0 <= k < n for k, n in zip(at, self._shape, strict=True)):
            raise Violation(f'{self._name} has no element {at}')
        return (self._name, *at)

    def __getitem__(self, at: tuple[int, int]) -> Any:
        return self._shared.access('get', self._place(at))

    def __setitem__(self, at: tuple[int, int], value: Any) -> None:
        self._shared.access('put', self._place(at), value)


#: What procedures call, for such doubles.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    'load_acquire': lambda data, at: data.ask('load', at),
    'store_release': lambda data, at, value: data.ask('store', at, value),
    'add_acq_rel': lambda data, at, value: data.ask('add', at, value),
    'exchange_acq_rel': lambda data, at, value: data.ask('exchange', at, value),
    'get_i64': lambda data, at: data.ask('get', at),
    'put_i64': lambda data, at, value: data.ask('put', at, value)}


class Explorer:
    """
    All that programs can do together.

    :param programs: functions of a ``Shared``, one for each thread.
    :param after: what is run when all have ended, by one who knows all that they did.
    :param weak: 'release' and 'acquire' for what is to have no effect.
    """

    def __init__(self, *programs: Callable[[Shared], Any],
                 after: Callable[[Shared], Any] = lambda shared: None,
                 weak: Sequence[str] = ()) -> None:
        self._programs, self._after, self._weak = programs, after, weak
        self._next: dict[tuple[int, tuple[Any, ...]], Any] = {}
        #: How many states were seen.
        self.states = 0

    def outcomes(self) -> set[Any]:
        """
        Return the results of the programs, and of what is run after them, in all executions.

        :raises Violation: for a race, a second writer of a word, or an assertion of a program.
        """
        n = len(self._programs)
        start = _State(tuple([_Thread((), tuple([0] * n), ()) for _ in range(n)]))
        todo: list[tuple[_State, Any]] = [(start, None)]
        known, found = {start}, set()
        while todo:
            state, path = todo.pop()
            try:
                following, done = self._expand(state)
            except AssertionError as error:
                raise Violation(f'{error}\n' + '\n'.join(_steps(path))) from None
            if done is not None:
                found.add(done)
            for step, each in following:
                if each not in known:
                    known.add(each)
                    todo.append((each, (step, path)))
        self.states = len(known)
        return found

    def _expand(self, state: _State) -> tuple[list[tuple[str, _State]], Any]:
        wanted = [self._ahead(k, each.answers) for k, each in enumerate(state.threads)]
        waiting = [(k, what) for k, (ended, what) in enumerate(wanted) if not ended]
        if not waiting:
            return [], self._end(state, tuple([what for _, what in wanted]))
        plain = [each for each in waiting if each[1][0] in ('get', 'put')]
        return [(f'thread {k}: {what} -> {answer}', following)
                for k, what in (plain[:1] or waiting)
                for answer, following in self._done(state, k, *what)], None

    def _ahead(self, k: int, answers: tuple[Any, ...]) -> tuple[bool, Any]:
        """Return the next access of a thread, or its result."""
        key = k, answers
        if key not in self._next:
            try:
                self._next[key] = True, self._programs[k](Shared(answers))
            except _Pause as pause:
                self._next[key] = False, pause.args[0]
        return self._next[key]

    def _end(self, state: _State, results: tuple[Any, ...]) -> Any:
        """Return the results, with that of what comes after."""
        values = {place: each[-1].value for place, each in state.values}

        class Known(Shared):

            def access(self, how: str, place: Place, *value: Any) -> Any:
                former = values.get(place, 0)
                if value:
                    values[place] = value[0] + (former if how == 'add' else 0)
                return former
        return (*results, self._after(Known(())))

    def _done(self, state: _State, k: int, how: str, place: Place, *value: Any,
              ) -> list[tuple[Any, _State]]:
        """Return the answers to an access of a thread, and what follows from each."""
        own, values = state.threads[k], dict(state.values)
        written = values.get(place, (_FIRST,))
        reads, reading = dict(state.reads), how in ('load', 'get', 'add', 'exchange')
        self._check(k, how, place, written, reads, own)
        last = len(written) - 1
        first = dict(own.seen).get(place, 0) if how == 'load' else last
        found = []
        for at in range(first, last + 1):
            seen = {**dict(own.seen), place: at}
            clock = own.clock
            if how not in ('get', 'put', 'store') and 'acquire' not in self._weak:
                clock, seen = _joined(clock, seen, written[at])
            clock = tuple([time + (i == k) for i, time in enumerate(clock)])
            after = written
            if value:
                new = value[0] + (written[at].value if how == 'add' else 0)
                seen[place] = len(written)
                known = tuple(sorted(seen.items()))
                told = how != 'put' and 'release' not in self._weak
                kind = how if how in ('put', 'store') else 'change'
                after = (*written, _Written(new, k, clock[k], kind, clock if told else None,
                                            known if told else ()))
            answer = written[at].value if reading else None
            thread = _Thread((*own.answers, answer), clock, tuple(sorted(seen.items())))
            noted = {**reads, (place, k, how): clock[k]} if reading else reads
            found.append((answer, _State(
                tuple([thread if i == k else each for i, each in enumerate(state.threads)]),
                tuple(sorted({**values, place: after}.items())), tuple(sorted(noted.items())))))
        return found

    def _check(self, k: int, how: str, place: Place, written: Sequence[_Written],
               reads: dict[tuple[Place, int, str], int], own: _Thread) -> None:
        """Refuse what is not ordered, and a second writer."""
        plain, writing = how in ('get', 'put'), how not in ('get', 'load')
        for each in written:
            if each.thread in (None, k):
                continue
            if (plain or each.how == 'put') and each.time > own.clock[each.thread]:
                raise Violation(f'race: {how} of {place} by {k}, {each.how} by {each.thread}')
            if writing and ('store' in (how, each.how) or (how, each.how) == ('put', 'change')):
                raise Violation(f'two writers of {place}: {each.thread} and {k}')
        for (where, thread, other), time in reads.items():
            if (where == place and thread != k and writing and time > own.clock[thread]
                    and (how == 'put' or other == 'get')):
                raise Violation(f'race: {how} of {place} by {k}, {other} by {thread}')


def _joined(clock: Clock, seen: dict[Place, int], found: _Written,
            ) -> tuple[Clock, dict[Place, int]]:
    """Return what is known after something was acquired."""
    if found.clock is None:
        return clock, seen
    told = dict(found.seen)
    return (tuple(map(max, clock, found.clock)),
            {place: max(seen.get(place, 0), told.get(place, 0)) for place in {**seen, **told}})


def _steps(path: Any) -> list[str]:
    found = []
    while path is not None:
        step, path = path
        found.append(step)
    return found[::-1]
