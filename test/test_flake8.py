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

"""The linter ament_flake8 over all Python files."""

from importlib.util import find_spec
from pathlib import Path

from linted import PATHS
import pytest

CONFIG = str(Path(__file__).with_name('ament_flake8.ini'))


@pytest.mark.linter
def test_flake8(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
                tmp_path: Path) -> None:
    """Style, import order, quotes and the rest of what ROS packages are checked for."""
    main = pytest.importorskip('ament_flake8.main', reason='ROS is not sourced')
    # It excludes every folder "__pycache__" below the current one by a pattern of its own: with
    # a virtual environment there, comparing each file with all of them takes a third of the time.
    monkeypatch.chdir(tmp_path)
    # test_pep257 looks at the docstrings of the same files by the same rules and some more
    if find_spec('flake8_docstrings'):
        monkeypatch.setattr('flake8_docstrings.pep257Checker.run', lambda self: iter(()))
    code, errors = main.main_with_errors(argv=['--config', CONFIG, *PATHS])
    capfd.readouterr()  # the findings once more, and the name of every file
    assert code == 0, f'{len(errors)} findings:\n' + '\n'.join(errors)
