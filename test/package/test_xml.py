# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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
