# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A torque that the middleware does not take stops the robot.

The middleware is a real one; a small library that is loaded before it refuses every other torque
for as long as a file is there.
"""

from __future__ import annotations

from pathlib import Path
import subprocess
import time

from arm import BRAKE, RELEASE, REPEATS
import preloaded
import pytest
from standing import Standing

SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* the beginning of a rmw_publisher_t */
struct publisher { const char * implementation; void * data; const char * topic; };

typedef int (*publish_t)(const struct publisher *, const void *, void *);

int rmw_publish_serialized_message(const struct publisher * it, const void * message, void * room)
{
  static publish_t publish;
  static unsigned count;
  const char * file = getenv("REFUSE_TORQUES");
  if (!publish) {
    void * library = dlopen("librmw_implementation.so", RTLD_LAZY | RTLD_NOLOAD);
    publish = (publish_t)dlsym(library, "rmw_publish_serialized_message");
  }
  if (strstr(it->topic, "/commands") && file && !access(file, F_OK) && ++count % 2) {
    return 1;  /* RMW_RET_ERROR */
  }
  return publish(it, message, room);
}
"""

#: a controller whose Python looks at the loop once in an hour, unless it is woken
UNHURRIED = """
import runpy
from rbd_ros.nodes.controller import attendant
attendant._PERIOD = 3600.0
runpy.run_module('rbd_ros.nodes.controller.process', run_name='__main__', alter_sys=True)
"""


@pytest.mark.sampled('launches', 1)
def test_refused_torques(tmp_path: Path) -> None:
    """The robot is released though the middleware goes on refusing, and the log says why."""
    library, refused = preloaded.build(tmp_path, SOURCE), tmp_path / 'refused'
    log = tmp_path / 'log'
    with log.open('wb') as output:
        system = Standing(
            {'fault_action': 'release', 'stop_action': 'release'},
            ('-c', UNHURRIED), {'LD_PRELOAD': str(library), 'REFUSE_TORQUES': str(refused)},
            stdout=output, stderr=subprocess.STDOUT)
        client = system.client
        try:
            system.run()
            begin = time.monotonic()
            refused.touch()
            client.wait_text('fault', 'an exception ended the node', begin)
            client.wait_text('state', 'released', begin, BRAKE + RELEASE + 10.0)
            came = [c for c in client.commands if c.time > begin]
            assert not came[-1].effort.any()
            assert len(came) > REPEATS / 2
        finally:
            refused.unlink(missing_ok=True)
            code = system.close()
            print(log.read_text(errors='replace')[-5000:])
    assert code == 1
    text = log.read_text(errors='replace')
    assert 'has not taken a torque' in text
    assert 'does not answer' not in text  # it was not Python's silence that has stopped it
    assert 1 <= text.count('the robot is stopped:') <= 3  # once at each place where it was seen
