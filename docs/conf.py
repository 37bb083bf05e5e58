# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Settings of Sphinx, which builds the pages of the repository to HTML (./run docs)."""

from pathlib import Path
import re
import sys

from docutils import nodes
from docutils.utils.math import latex2mathml
from rbd_ros import load_urdf
from rbd_ros.command_line.embedded.web import robot_script

sys.path.insert(0, str(Path(__file__).parent / 'extensions'))

project = 'rbd_ros'
copyright = '2026, the rbd_ros developers'  # noqa: A001
author = 'the rbd_ros developers'

# the repository is the source, so that a link works on the site as it does in the repository
root_doc = 'docs/index'
include_patterns = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.rst', 'QUALITY_DECLARATION.md',
                    'SECURITY.md', 'docs/*.md', 'docs/developers/*.md', 'rbd_ros/learn/*.md']
# Sphinx looks through every folder that is not named here, also where no page can be
exclude_patterns = ['.*', 'build', 'install', 'log', 'rbd_ros/[!l]*', 'test', 'tools']
extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx_copybutton', 'api_reference',
              'source_lines', 'gallery', 'lessons']
myst_heading_anchors = 4
myst_enable_extensions = ['colon_fence']
myst_fence_as_directive = ['math']
highlight_language = 'text'
python_use_unqualified_type_names = True
autodoc_member_order = 'bysource'
autodoc_typehints_format = 'short'
# what signatures name may be a type of NumPy or of a module that no page describes
nitpick_ignore_regex = [('py:.*', '.*')]
copybutton_prompt_text = '$ '

html_theme = 'furo'
html_title = 'rbd_ros'
html_show_sourcelink = False
html_math_renderer = 'mathml'
html_static_path = ['_static']
html_css_files = ['pages.css']

#: A letter with one or two dots or a ring in TeX, and these as characters that join the letter.
DOTTED = re.compile(r'\\(dot|ddot|mathring) *(?:\{([a-zA-Z])\}|([a-zA-Z]))')
ACCENTS = {'dot': '\u0307', 'ddot': '\u0308', 'mathring': '\u030a'}
#: An alphabet that no formula uses: docutils takes each of its letters for one identifier.
PLACEHOLDERS = 0x10428
ITALIC = {**{chr(ord('a') + k): chr(0x1D44E + k) for k in range(26)},
          **{chr(ord('A') + k): chr(0x1D434 + k) for k in range(26)},
          'h': '\u210e'}  # which had its place in Unicode before the others


def mathml(formula, *, block):
    """
    Return a formula as MathML, which browsers draw without a script.

    A dot as an accent of its own touches the letter where no mathematical font is installed, and
    docutils puts an index below both. So a letter with dots becomes one identifier.
    """
    dotted = []

    def hide(match):
        dotted.append(ITALIC[match[2] or match[3]] + ACCENTS[match[1]])
        return chr(PLACEHOLDERS + len(dotted) - 1)
    text = str(latex2mathml.tex2mathml(DOTTED.sub(hide, formula), as_block=block))
    for k, letter in enumerate(dotted):
        text = text.replace(chr(PLACEHOLDERS + k), letter)
    return text


def inline_math(writer, node):
    """Write a formula in a line."""
    writer.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def block_math(writer, node):
    """Write a displayed formula."""
    writer.body.append(f'<div class="math">{mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def first_page(app, exception):
    """Let the folder of the site open at its root page."""
    if exception is None and app.builder.format == 'html':
        page = '<meta http-equiv="refresh" content="0; url=docs/index.html">\n'
        (app.outdir / 'index.html').write_text(page)


def arm_script(app, exception):
    """Write the script with which a page computes: the arm of the package as WebAssembly."""
    if exception is None and app.builder.format == 'html':
        model = load_urdf(Path(app.srcdir) / 'urdf' / 'seven_joint_arm.urdf')
        (app.outdir / '_static' / 'arm.js').write_text(
            robot_script(model, [('gravity', None)], 'arm'))


def setup(app):
    """Add the renderer of formulas, the page at the root of the site and the script of a robot."""
    app.add_html_math_renderer('mathml', (inline_math, None), (block_math, None))
    app.connect('build-finished', first_page)
    app.connect('build-finished', arm_script)
