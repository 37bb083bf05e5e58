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

"""What tests that type commands share."""

import shutil

import pytest


@pytest.fixture
def ros2() -> str:
    """Return the program, or skip where the environment has none."""
    found = shutil.which('ros2')
    if not found:
        pytest.skip('there is no ros2 program on PATH: run this through ./run test')
    return found
