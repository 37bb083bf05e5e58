# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The controller process: what its signals do, and what is left when it ends."""

import contextlib
import os
from pathlib import Path
import signal
import socket
import subprocess
import sys
import threading
import time

from isolation import own_domain
from rbd_env.pace import patient
from rbd_ros.nodes.process_end import SignalEvent


def test_nohup_outlives_the_terminal():
    """Whoever ignores SIGHUP wants it to go on; of the other signals the first one counts."""
    code = ('import signal, sys\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n'
            'from rbd_ros.nodes.controller.process import main\nsys.exit(main())')
    with own_domain():
        process = subprocess.Popen(
            [sys.executable, '-c', code, '--ros-args', '-p', 'autostart:=false'],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        status, end = Path(f'/proc/{process.pid}/status'), time.monotonic() + patient(60.0)
        wanted = 1 << signal.SIGTERM - 1 | 1 << signal.SIGINT - 1
        while int(status.read_text().split('SigCgt:')[1].split()[0], 16) & wanted != wanted:
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        said = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said += process.communicate(timeout=patient(60.0))[0]
    finally:
        process.kill()
    assert process.returncode == 0 and 'ending (SIGTERM): stopping the robot first' in said, said


def test_a_process_leaves_with_its_code_and_its_last_words():
    """What was printed is not lost, and threads that do not end are not waited for."""
    done = subprocess.run(
        [sys.executable, '-c', 'import threading, time\n'
         'from rbd_ros.nodes.process_end import leave\n'
         'threading.Thread(target=time.sleep, args=(600.0,)).start()\n'
         'print("last words")\nleave(3)'],
        capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 3 and done.stdout == 'last words\n'


def test_the_number_of_a_signal_stays_for_the_loop():
    """Whoever waits for the event leaves the byte, which machine code looks at without Python."""
    former, wakeup = signal.getsignal(signal.SIGUSR1), signal.set_wakeup_fd(-1)
    event = SignalEvent()
    try:
        event.take(signal.SIGUSR1, lambda *_: event.set())
        assert not event.wait(0.01)
        threading.Timer(0.05, signal.pthread_kill, (
            threading.main_thread().ident, signal.SIGUSR1)).start()
        assert event.wait(20.0) and event.wait()
        with socket.socket(fileno=os.dup(event.fileno())) as look:
            assert signal.SIGUSR1 in look.recv(64, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    finally:
        signal.signal(signal.SIGUSR1, former)
        signal.set_wakeup_fd(-1)
        with contextlib.suppress(OSError):  # what an earlier test set may be closed by now
            signal.set_wakeup_fd(wakeup)
