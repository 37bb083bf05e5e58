# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
The gallery of the examples, made of their files when the pages are built.

What an example answers is the first sentence of its docstring. Its picture is what it draws, or
the robot that it computes (docs/robot_pictures.py). Its file becomes a page of the site.
"""

import ast
from pathlib import Path

from source_lines import FOLDER, source_page

PAGE, MARK = 'docs/gallery', '<!-- gallery -->'
ROOT = Path(__file__).parents[2]
PICTURES = ROOT / 'docs' / 'pictures'
#: Pictures that examples draw, where they have other names.
DRAWN = {'bounce_on_a_soft_floor': 'bounce', 'drift_of_a_five_bar': 'five_bar_drift',
         'coordinates_of_a_mechanism': 'five_bar_at_its_singularity',
         'linearize_a_five_bar': 'five_bar_at_its_singularity',
         'quadruped_node': 'quadruped_feet', 'quadruped_stands': 'quadruped_feet',
         'stop_a_moving_arm': 'stop_sequence', 'track_a_motion': 'tracking'}
#: What one without a picture of its own shows: the arm of the package.
ARM = 'gravity_torques'


def examples():
    """Return the files of the examples."""
    return sorted((ROOT / 'examples').glob('*.py'))


def picture(name):
    """Return the picture of an example, as seen from the page."""
    places = (PICTURES / f'{DRAWN.get(name, name)}.png', PICTURES / 'examples' / f'{name}.png',
              PICTURES / 'examples' / f'{ARM}.png')
    return next(file for file in places if file.exists()).relative_to(PICTURES.parent)


def card(file):
    """Return what the gallery has of an example, Markdown."""
    text = ast.get_docstring(ast.parse(file.read_text())) or ''
    question, mark, rest = ' '.join(text.partition('\n\n')[0].split()).partition('?')
    return '\n'.join([
        ':::{container} example', f'![{file.stem}]({picture(file.stem)})', '',
        f'<a href="{FOLDER}/examples/{file.stem}.html"><strong>{question}{mark}</strong></a>'
        f'{rest}', ':::', ''])


def fill(app, docname, source):
    """Put the cards in the place of the mark."""
    if docname == PAGE:
        cards = '\n'.join(map(card, examples()))
        source[0] = source[0].replace(MARK, f'::::{{container}} examples\n\n{cards}\n::::')


def file_pages(app):
    """Return the examples as pages."""
    return [source_page(f'examples/{file.name}')
            for file in (examples() if PAGE in app.env.found_docs else ())]


def always(app, env, added, changed, removed):
    """Read the page anew whenever pages are built: examples change without it."""
    return [PAGE] if PAGE in env.found_docs else []


def setup(app):
    """Connect it."""
    app.connect('source-read', fill)
    app.connect('html-collect-pages', file_pages)
    app.connect('env-get-outdated', always)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
