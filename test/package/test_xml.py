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

"""Check XML files against a schema that is kept here: the network is not asked."""

from pathlib import Path

from linted import ROOT
import pytest

SCHEMA = Path(__file__).parents[1] / 'schema' / 'package_format3.xsd'
FILES = sorted([ROOT / 'package.xml', *(ROOT / 'urdf').rglob('*.urdf')])


@pytest.mark.linter
@pytest.mark.parametrize('file', FILES, ids=lambda path: path.name)
def test_well_formed(file: Path) -> None:
    """Every XML file can be parsed."""
    etree = pytest.importorskip('lxml.etree', reason='lxml is not installed')
    etree.parse(str(file))


@pytest.mark.linter
def test_package_xml_follows_schema() -> None:
    """The package manifest is as format 3 says (REP 149)."""
    etree = pytest.importorskip('lxml.etree', reason='lxml is not installed')
    schema = etree.XMLSchema(etree.parse(str(SCHEMA)))
    schema.assertValid(etree.parse(str(ROOT / 'package.xml')))
