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

"""Settings of Sphinx, which builds the pages of the repository to HTML (./run docs)."""

from docutils import nodes
from docutils.utils.math import latex2mathml

project = 'rbd_ros'
copyright = '2026, the rbd_ros developers'  # noqa: A001
author = 'the rbd_ros developers'

# the repository is the source, so that a link works on the site as it does in the repository
root_doc = 'docs/index'
include_patterns = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.rst', 'QUALITY_DECLARATION.md',
                    'docs/*.md', 'docs/developers/*.md']
extensions = ['myst_parser']
myst_heading_anchors = 4
myst_fence_as_directive = ['math']
highlight_language = 'text'

html_theme = 'furo'
html_title = 'rbd_ros'
html_show_sourcelink = False
html_math_renderer = 'mathml'


def inline_math(writer, node):
    """Write a formula in a line as MathML, which browsers draw without a script."""
    writer.body.append(str(latex2mathml.tex2mathml(node.astext())))
    raise nodes.SkipNode


def block_math(writer, node):
    """Write a displayed formula as MathML."""
    formula = latex2mathml.tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="math">{formula}</div>')
    raise nodes.SkipNode


def first_page(app, exception):
    """Let the folder of the site open at its root page."""
    if exception is None and app.builder.format == 'html':
        page = '<meta http-equiv="refresh" content="0; url=docs/index.html">\n'
        (app.outdir / 'index.html').write_text(page)


def setup(app):
    """Add the renderer of formulas and the page at the root of the site."""
    app.add_html_math_renderer('mathml', (inline_math, None), (block_math, None))
    app.connect('build-finished', first_page)
