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

"""The linter ament_pep257 over all Python files."""

from linted import PATHS
import pytest


@pytest.mark.linter
def test_pep257(capfd: pytest.CaptureFixture[str]) -> None:
    """Docstrings are as ROS packages have them."""
    main = pytest.importorskip('ament_pep257.main', reason='ROS is not sourced')
    examples = [path for path in PATHS if path.endswith('examples')]
    code = main.main(argv=[path for path in PATHS if path not in examples])
    if examples:  # they begin with the question that they answer, not with a period
        code = main.main(argv=['--add-ignore', 'D400', '--', *examples]) or code
    printed = ''.join(capfd.readouterr()).splitlines()
    findings = [line for line in printed if not line.startswith('checking ')]
    assert code == 0, '\n' + '\n'.join(findings)
