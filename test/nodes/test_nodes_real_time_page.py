# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The settings of middlewares on the page about real time: their threads get the priority."""

from __future__ import annotations

import json
import os
from pathlib import Path
import re
import subprocess
import sys

from linted import ROOT
import pytest
from rbd_env.pace import patient

pytest.importorskip('rclpy', reason='ROS is not sourced')
from rclpy.utilities import get_available_rmw_implementations  # noqa: I100

BLOCKS = re.findall(r'```xml\n(.*?)```', (ROOT / 'docs' / 'real_time.md').read_text(), re.DOTALL)
#: variable, and what the names of the threads through which states come begin with
MIDDLEWARES = {'rmw_fastrtps_cpp': ('FASTRTPS_DEFAULT_PROFILES_FILE', '{}', ('dds.udp', 'dds.ev')),
               'rmw_cyclonedds_cpp': ('CYCLONEDDS_URI', 'file://{}', ('recv', 'dq.user', 'tev'))}

THREADS = """
import json, os
import rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node('a')
heard = []
node.create_subscription(String, 'x', heard.append, 10)
publisher = node.create_publisher(String, 'x', 10)
while not heard:
    publisher.publish(String(data='here'))
    rclpy.spin_once(node, timeout_sec=0.1)
found = {}
for tid in map(int, os.listdir('/proc/self/task')):
    with open(f'/proc/self/task/{tid}/comm') as file:
        found[file.read().strip()] = (
            os.sched_getscheduler(tid) == os.SCHED_FIFO, os.sched_getparam(tid).sched_priority)
print(json.dumps(found))
"""


def may_have_a_priority() -> bool:
    """Return whether a process of ours may have a real-time priority."""
    return subprocess.run(
        [sys.executable, '-c', 'import os; os.sched_setscheduler(0, os.SCHED_FIFO, '
         'os.sched_param(45))'], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize('name', MIDDLEWARES)
def test_threads_get_their_priority(name: str, tmp_path: Path) -> None:
    """A node with the settings of the page talks, and the threads of its states are first."""
    if name not in get_available_rmw_implementations():
        pytest.skip(f'this machine has no {name}')
    if not may_have_a_priority():
        pytest.skip('this machine gives its user no real-time priority')
    variable, form, threads = MIDDLEWARES[name]
    file = tmp_path / 'settings.xml'
    file.write_text(BLOCKS[list(MIDDLEWARES).index(name)])
    done = subprocess.run(
        [sys.executable, '-c', THREADS], capture_output=True, text=True, check=False,
        timeout=patient(60), env=os.environ | {'RMW_IMPLEMENTATION': name,
                                               variable: form.format(file)})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for begin in threads:
        named = {name: each for name, each in found.items() if name.startswith(begin)}
        assert named and all(each == [True, 45] for each in named.values()), found
