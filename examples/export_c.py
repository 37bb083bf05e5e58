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

"""How do I run this on a microcontroller? Write C99 without any dependency."""

from pathlib import Path
import sys
import tempfile

import rbd_ros

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
robot = rbd_ros.Dynamics(model, payload_frame='tool0')

# Gravity and payload are arguments of the functions, so the firmware can change them.
code = robot.c_source('gravity', 'inverse_dynamics', ('jacobian', 'tool0'), prefix='arm')
(folder / 'arm.c').write_text(code.source)
(folder / 'arm.h').write_text(code.header)
print('\n'.join(line for line in code.header.splitlines() if line.startswith(('void', '/*'))))
print(f'written to {folder}; compile with: cc -std=c99 -O2 -c arm.c')
