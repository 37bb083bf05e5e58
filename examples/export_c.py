# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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
