# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
``./run test``: linters, unit tests, launch tests and browser tests, and one summary.

Heavy proofs run on a sample, which hangs on the digest of the sources; ``--all`` runs all of it,
``--all recordings`` all of one kind, ``--seed N`` another sample (test/harness/sampling.py).

``./run test scale`` runs what needs PyTorch, JAX, Dask and Ray, in an environment of their own.
"""

from __future__ import annotations

from collections import Counter
import itertools
import os
from pathlib import Path
import signal
import sys
import threading
import time

from rbd_env import (
    browser, disturbance, kept_code, pace, progress, scale, stages, whole_runs)
from rbd_env.failure import Failure
from rbd_env.layout import locate, user_cache

# options that leave it a run of everything
VALUED = ('--seed', '--shuffle', '--disturb')
WHOLE = ('--all=', *(f'{word}=' for word in VALUED))
COUNTED = ('passed', 'failed', 'skipped')


def summary(done: list[stages.Stage], root: Path) -> tuple[list[str], Counter[str]]:
    """Return what ran, how long, what was skipped or sampled and why; and the counts."""
    lines = ['', '######## summary', f'{"build":<14} ok']
    total: Counter[str] = Counter()
    for stage in done:
        if stage.skipped:
            lines.append(f'{stage.name:<14} skipped {stage.skipped}')
            continue
        counts = stage.counts(root)
        total += counts
        words = [f'{counts[word]} {word}' for word in COUNTED if counts[word]] or ['no test']
        if stage.failed and not counts['failed']:
            words.append(f'pytest ended with code {stage.code}')
        verdict = 'FAILED' if stage.failed else 'ok'
        lines.append(f'{stage.name:<14} {verdict:<7} {", ".join(words)} in {stage.seconds:.0f} s')
        lines += [f'{"":<14} {line}' for line in stage.reasons(root)]
    lines += sampled(done, root)
    if {stage.name for stage in done} >= {'unit tests', 'launch tests'}:
        lines.append('scale          apart   PyTorch, JAX, Dask and Ray: ./run test scale')
    lines.append('tests: ' + ', '.join(f'{total[word]} {word}' for word in COUNTED))
    return lines, total


def sampled(done: list[stages.Stage], root: Path) -> list[str]:
    """Return of each kind of heavy tests how much ran, and when it last ran whole."""
    counts: dict[str, Counter[str]] = {}
    for stage in done:
        for kind, found in stages.read_sampled(root, stage.name).items():
            counts.setdefault(kind, Counter()).update(found)
    last = whole_runs.last(root)
    return [f'{"sampled":<14} {kind}: {found["kept"]} of {found["of"]}; whole: '
            f'{last.get(kind, "never")}' if found['kept'] < found['of'] else
            f'{"whole":<14} {kind}: {found["of"]}' for kind, found in sorted(counts.items())]


def joined(arguments: list[str], root: Path) -> list[str]:
    """Return the arguments with options of this suite and their values as one word each."""
    words, rest = [], list(arguments)
    while rest:
        word = rest.pop(0)
        if word == '--all':
            kinds = list(itertools.takewhile(lambda each: not each.startswith('-') and not (
                root / each.partition('::')[0]).exists(), rest))
            del rest[:len(kinds)]
            word = f'--all={",".join(kinds) or "all"}'
        elif word in VALUED and rest:
            word = f'{word}={rest.pop(0)}'
        words.append(word)
    return words


def find_browser(chosen: list[stages.Stage]) -> None:
    """
    Give the browser tests a browser, or skip them with the reason.

    One is fetched for them, not for a choice by a word among all tests, which may choose none.
    """
    for stage in chosen:
        if stage.name == 'browser tests':
            if stage.complete or not stage.whole:
                progress.step('looking for a browser')
                found, reason = browser.provide(user_cache(dict(os.environ)))
            else:
                found, reason = browser.find(), 'none is installed'
            if found:
                os.environ[browser.VARIABLE] = found
            else:
                stage.skipped = f'they need a browser: {reason}'


def run_together(chosen: list[stages.Stage], root: Path, options: list[str]) -> None:
    """
    Run the linters next to the unit tests, then launch tests and browser tests by themselves.

    Linters have one process for most of their time, and would leave processors idle. Launch tests
    judge reaction times: whatever else runs makes them wait, and the whole suite with them, even
    at a low priority, which the system applies only among processes of one session. A browser that
    draws without a graphics card takes all processors.
    """
    *others, launch, browser = chosen
    for stage in others:
        stage.beside = True
    threads = [threading.Thread(target=stage.run, args=(root, options)) for stage in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    launch.run(root, options)
    browser.run(root, options)


def run(arguments: list[str], root: Path, only: tuple[str, ...] = ()) -> int:
    """
    Run the suite.

    :param arguments: for pytest; files or test ids among them choose what is run.
    :param only: names of stages, all when empty.
    :returns: the exit code.
    """
    begin = time.monotonic()
    if arguments[:1] == ['scale']:
        arguments = ['test/scale', *arguments[1:]]
    arguments = joined(arguments, root)
    disturb = [word for word in arguments if word.startswith('--disturb=')]
    if disturb:
        rest = [word for word in arguments if word not in disturb]
        seed = [word.partition('=')[2] for word in rest if word.startswith('--seed=')]
        with disturbance.disturbed(disturb[-1].partition('=')[2], ''.join(seed[-1:])):
            return run(rest, root, only)
    named, options = stages.split_paths(root, arguments)
    everything = not named and not only and all(
        word.startswith(WHOLE) for word in options)
    done, kept = [], kept_code.count(root, os.environ)
    chosen = [each for each in stages.suite(root, named) if not only or each.name in only]
    for stage in chosen:
        stage.complete = everything or arguments == ['test/scale']
        if stage.name == 'scale tests':
            layout = locate(dict(os.environ))
            stage.python = str(scale.provide(layout))
            stage.variables = scale.variables(layout, dict(os.environ))
    if pace.VARIABLE not in os.environ:
        os.environ[pace.VARIABLE] = f'{pace.measure():.2f}'
    find_browser(chosen)
    if everything and len(os.sched_getaffinity(0)) > 1:
        run_together(chosen, root, options)
        done = chosen
    for stage in chosen if not done else ():
        stage.run(root, options)
        done.append(stage)
        if stage.failed and any(word in ('-x', '--exitfirst') for word in options):
            break
    lines, total = summary(done, root)
    lines.insert(-1, f'{"machine code":<14} {kept_code.count(root, os.environ).told(kept)}')
    lines[-1] += f', in {time.monotonic() - begin:.0f} s; pace {pace.known():.1f}'
    print('\n'.join(lines), flush=True)
    if any(stage.failed for stage in done):
        return 1
    nothing = not sum(total.values()) and not any(stage.skipped for stage in done)
    if nothing and '--collect-only' not in options and '--co' not in options:
        print('./run test: nothing was selected', file=sys.stderr)
        return stages.NO_TESTS
    if everything:
        whole_runs.note(root, [stage.name for stage in chosen])
    return 0


if __name__ == '__main__':
    # A shell that starts it in the background has it ignore SIGINT, and all that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.exit(run(sys.argv[1:], Path(os.environ['RBD_ROS_ROOT'])))
    except Failure as failure:
        print(failure.paragraph(), file=sys.stderr)
        sys.exit(1)
