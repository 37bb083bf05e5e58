# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the service starts ends well, within its time, when the service's signal comes."""

from __future__ import annotations

import configparser
from pathlib import Path
import shlex
import signal
import subprocess
import threading
import time

from rbd_env.pace import patient

ROOT = Path(__file__).resolve().parents[2]


def settings() -> dict[str, str]:
    """Return those of the service."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    text = (ROOT / 'deploy' / 'rbd-controller.service').read_text()
    parser.read_string(text.replace('\\\n', ' '))
    return dict(parser['Service'])


def test_stop_of_the_service() -> None:
    """Brake, ramp, release and exit code 0, with the signal to the first process alone."""
    unit = settings()
    # the simulated arm in place of the robot that the example names
    command = [word for word in shlex.split(unit['ExecStart'])[1:] if ':=' not in word]
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job may ignore it
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, start_new_session=True)
    finally:
        signal.signal(signal.SIGINT, former)
    assert process.stdout is not None
    late = threading.Timer(patient(120.0), process.kill)
    late.start()
    lines: list[str] = []
    asked = 0.0
    for line in process.stdout:
        lines.append(line)
        if not asked and line.rstrip().endswith(']: running'):
            asked = time.monotonic()
            process.send_signal(signal.Signals[unit['KillSignal']])
    code, taken = process.wait(), time.monotonic() - asked
    late.cancel()
    said = ''.join(lines)
    assert asked and code == 0, said
    places = [said.index(f']: {state}\n') for state in
              ('running', 'braking', 'ramping down', 'releasing', 'released')]
    assert places == sorted(places)
    assert taken < patient(float(unit['TimeoutStopSec']))
