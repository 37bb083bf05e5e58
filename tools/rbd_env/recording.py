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

"""``./run record``: what the controller does, recorded; the recorder is in test/recording."""

from __future__ import annotations

import os
from pathlib import Path
import sys

PARTS = ('recording', 'oracles', 'rigs', 'harness')


def main(arguments: list[str]) -> int:
    """Run the recorder of the checkout."""
    tests = Path(os.environ['RBD_ROS_ROOT']) / 'test'
    sys.path[:0] = [str(tests / part) for part in PARTS]
    import record_command
    return int(record_command.main(arguments))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
