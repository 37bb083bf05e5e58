# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Where the native loop cannot run, an executor of rclpy runs the same step, and the log says so.

The middleware is a real one whose callbacks for new messages are taken away by a small library
that is loaded before it; it is built by the machine's C compiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import subprocess

from arm import BRAKE, GRAVITY, RELEASE
import numpy as np
import preloaded
import pytest
from standing import CONTROLLER, Standing

#: RMW_RET_UNSUPPORTED
UNSUPPORTED = 3

#: functions of rmw/rmw.h by which somebody is called when something has come
REFUSED = ('rmw_subscription_set_on_new_message_callback',
           'rmw_service_set_on_new_request_callback', 'rmw_client_set_on_new_response_callback',
           'rmw_event_set_callback')

#: a program whose Python has no llvmlite
WITHOUT_LLVM = """
import runpy, sys
sys.modules['llvmlite'] = None
runpy.run_module('rbd_ros.nodes.controller.process', run_name='__main__', alter_sys=True)
"""

EXECUTOR = 'an executor of rclpy runs the control loop, not a thread of machine code: '


pytestmark = pytest.mark.sampled('launches', 1)


@pytest.fixture(scope='module')
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library that refuses callbacks; that none be called any more is granted."""
    return preloaded.build(tmp_path_factory.mktemp('refusing'), '\n'.join(
        f'int {name}(void * entity, void * callback, const void * data)\n'
        f'{{ (void)entity; (void)data; return callback ? {UNSUPPORTED} : 0; }}'
        for name in REFUSED))


@contextmanager
def controller(folder: Path, parameters: dict[str, object], environment: dict[str, str],
               program: tuple[str, ...] = CONTROLLER) -> Iterator[Standing]:
    """Give a controller of the arm, whose log is a file; see that it ends well."""
    log = folder / 'log'
    with log.open('wb') as output:
        made = Standing({'stop_action': 'release', **parameters}, program, environment,
                        stdout=output, stderr=subprocess.STDOUT)
        try:
            yield made
        finally:
            code = made.close()
            print(log.read_text(errors='replace')[-5000:])
    assert code == 0


def expect_work(system: Standing) -> None:
    """Expect: it carries the arm, ~/stop stops it, and it can be reset."""
    client = system.client
    system.run()
    client.wait(lambda: client.commands and np.allclose(
        client.commands[-1].effort, GRAVITY, rtol=0.0, atol=1e-6), 'gravity')
    answer = client.trigger('stop')
    assert answer.success and answer.message in ('braking', 'releasing'), answer
    client.wait(lambda: not client.commands[-1].effort.any(), 'a release', BRAKE + RELEASE + 10.0)
    client.wait(lambda: client.trigger('reset').success, 'a reset once it has ended')


def test_middleware_that_does_not_call_back(refusing: Path, tmp_path: Path) -> None:
    """The loop is run by an executor that waits for all entities, which needs no callbacks."""
    with controller(tmp_path, {}, {'LD_PRELOAD': str(refusing)}) as system:
        expect_work(system)
        assert system.client.get('executor') == 'single'
    lines = (tmp_path / 'log').read_text().splitlines()
    said = [line for line in lines if EXECUTOR in line]
    assert len(said) == 1 and 'WARN' in said[0], said
    assert ('the middleware refuses rcl_subscription_set_on_new_message_callback '
            f'({UNSUPPORTED})') in said[0]
    said = [line for line in lines if 'executor "single" is used, not "events"' in line]
    assert len(said) == 1 and 'rcl_subscription_set_on_new_message_callback' in said[0], said


def test_python_without_machine_code(tmp_path: Path) -> None:
    """Without llvmlite everything is Python, slowly, and the robot is carried."""
    with controller(tmp_path, {'nominal_rate': 20.0, 'minimum_rate': 2.0}, {},
                    ('-c', WITHOUT_LLVM)) as system:
        expect_work(system)
    said = [line for line in (tmp_path / 'log').read_text().splitlines() if EXECUTOR in line]
    assert len(said) == 1 and 'llvmlite, which is not installed' in said[0], said


@pytest.mark.parametrize(('parameters', 'why'), [
    ({'loop': 'executor'}, 'loop is "executor"'), ({'fast_path': False}, 'fast_path is false')])
def test_executor_by_choice(tmp_path: Path, parameters: dict[str, object], why: str) -> None:
    """What a parameter has chosen is said, and is no warning."""
    with controller(tmp_path, parameters, {}) as system:
        expect_work(system)
        assert system.client.get('executor') == 'events'
    said = [line for line in (tmp_path / 'log').read_text().splitlines() if EXECUTOR in line]
    assert len(said) == 1 and why in said[0] and 'INFO' in said[0], said
