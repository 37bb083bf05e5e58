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

"""The linter ament_copyright over all Python files."""

from functools import cache

from linted import PATHS
import pytest


@pytest.mark.linter
def test_copyright(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file says whose it is and under which licence."""
    main = pytest.importorskip('ament_copyright.main', reason='ROS is not sourced')
    from ament_copyright import parser
    for slow in ('get_licenses', 'get_copyright_names', 'remove_formatting'):
        # the linter would search all installed packages for the known licences at every file
        monkeypatch.setattr(parser, slow, cache(getattr(parser, slow)))
    code = main.main(argv=PATHS)
    printed = ''.join(capfd.readouterr()).splitlines()
    findings = [line for line in printed if not line.startswith('checking ')]
    assert code == 0, '\n' + '\n'.join(findings)
