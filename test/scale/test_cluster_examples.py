# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The examples for clusters run as a user runs them, and what they find is true."""

from __future__ import annotations

import os
from pathlib import Path
import re
import subprocess
import sys

from benchmark.bags import write_motions
from gradient_rig import arm
import numpy as np
import pytest
from rbd_ros.identification import base_parameters, design

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / 'examples' / 'cluster'


def run(name, *arguments, **variables):
    """Return what an example prints."""
    done = subprocess.run([sys.executable, FOLDER / f'{name}.py', *map(str, arguments)],
                          text=True, capture_output=True, check=False,
                          env={**os.environ, **variables, 'PYTHONPATH': str(ROOT)})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_examples_are_short_and_ask_a_question():
    """As all examples."""
    for path in FOLDER.glob('*.py'):
        lines = path.read_text().splitlines()
        assert 10 <= len(lines) - 3 <= 48 and '?' in lines[3], path.name


def address(rays):
    """Return where an example finds the cluster of the tests."""
    return {'RAY_ADDRESS': rays.get_runtime_context().gcs_address}


def test_monte_carlo_of_a_controller(rays):
    """A heavier load that is not known means larger errors."""
    errors = [float(x) for x in re.findall(r'up to ([\d.]+) degrees',
                                           run('monte_carlo_of_a_controller', 24,
                                               **address(rays)))]
    assert len(errors) == 3 and 0.0 < errors[0] < errors[1] < errors[2]


def test_workspace_and_payload_map():
    """No cell beyond the reach of the arm is reached, and near the base it lifts more."""
    printed = run('workspace_and_payload_map', 4, 5000)
    rows = [line.split() for line in printed.splitlines()[1:]]
    assert np.shape(rows) == (16, 16)
    table = np.array([[-1.0 if x == '.' else float(x) for x in row] for row in rows])
    q = np.random.default_rng(9).uniform(arm().model.lower, arm().model.upper, (20_000, 7))
    reach = np.hypot(*arm().pose(q, 'tool0')[:, :2, 3].T).max()
    reached = np.flatnonzero((table >= 0.0).any(axis=0))
    assert reached.max() <= np.floor(reach / 0.1 + 0.5)
    assert table[:, 1].max() > table[:, reached.max()].max() > 0.0


def test_label_a_data_set(rays, tmp_path):
    """Each shard has the torques of its states."""
    assert '3000 states of 6 shards' in run(
        'label_a_data_set', tmp_path, 6, 500, **address(rays))
    for path in sorted(tmp_path.glob('*.npz')):
        states = np.load(path)
        np.testing.assert_allclose(
            np.load(path.with_suffix('.tau.npy')),
            arm().inverse_dynamics(states['q'], states['qd'], states['qdd']), rtol=1e-12,
            atol=1e-12)


@pytest.mark.parametrize('count', [6])
def test_identify_over_bags(tmp_path, count):
    """Parameters come out of the sums of all bags, and a damaged bag is named and left out."""
    bags = tmp_path / 'bags'
    bags.mkdir()
    write_motions(bags, arm(), count, seconds=3.0, rate=100.0)
    (bags / 'damaged').mkdir()
    printed = run('identify_over_bags', bags, tmp_path / 'found.npy')
    assert 'damaged is left out' in printed and f'{count} bags' in printed
    motion = np.random.default_rng(99).uniform(-1.0, 1.0, (3, 200, 7))
    columns = list(base_parameters(arm(), drives=True).independent)
    tau = design(arm(), *motion, drives=True)[:, columns] @ np.load(tmp_path / 'found.npy')
    expected = arm().inverse_dynamics(*motion).ravel()
    # Accelerations are differences over 10 ms of motion up to 6 rad/s: good to a thousandth.
    assert np.abs(tau - expected).max() < 0.005 * np.abs(expected).max()
    assert float(re.search(r'leave ([\d.]+) N.m', printed)[1]) < 0.1
