# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Files that are dropped onto a page take the way of its button for files.

A script in the browser hands a dropped file to the input of that button, as if it had been chosen
there: what the button checks, and what the server checks of its messages, holds for both. Without
the button no file is taken; even then it must not be opened by the browser, in place of the page.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ['take_dropped_files']

#: KINDS and LARGEST are put in. The page of viser is made anew by its own program, so that the
#: input is looked for each time.
SCRIPT = r"""
if (!window.takesDroppedFiles) {
  window.takesDroppedFiles = true;
  const kinds = KINDS, largest = LARGEST;
  const sheet = document.createElement('div');
  sheet.id = 'dropped-file';
  sheet.setAttribute('role', 'status');
  sheet.style.cssText = 'display:none;position:fixed;inset:0;z-index:10000;pointer-events:none;'
    + 'align-items:center;justify-content:center;text-align:center;font:600 22px sans-serif;'
    + 'padding:1em;color:#fff;background:rgba(20,40,80,0.72);border:4px dashed #fff';
  document.body.appendChild(sheet);
  let hiding = 0;
  const hide = () => { sheet.style.display = 'none'; };
  const say = (text, seconds) => {
    sheet.textContent = text;
    sheet.style.display = 'flex';
    clearTimeout(hiding);
    hiding = setTimeout(hide, 1000 * seconds);
  };
  const input = () => document.querySelector(`input[type="file"][accept="${kinds}"]`);
  const button = () => input() && input().parentElement.querySelector('button');
  const unable = () => !button()
    ? 'No file is taken now: only beside a simulated robot, with the panel open'
    : button().disabled ? 'The page is busy with the last file: end that robot first' : '';
  const wrong = (files) => files.length !== 1
    ? 'One file, please: a URDF. Meshes are taken from packages of the machine'
    : !kinds.split(',').some((kind) => files[0].name.toLowerCase().endsWith(kind))
    ? `${files[0].name}: a URDF is taken, with a name that ends with ${kinds.replace(',', ' or ')}`
    : !files[0].size ? `${files[0].name} is empty` : files[0].size > largest
    ? `${files[0].name} is larger than ${largest / 2 ** 20} MB` : '';
  const isFile = (event) => event.dataTransfer && [...event.dataTransfer.types].includes('Files');
  const on = (kind, action) => window.addEventListener(kind, action, true);
  on('dragover', (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = unable() ? 'none' : 'copy';
    say(unable() || 'Drop a URDF to look at it', 1);
  });
  on('drop', (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    event.stopPropagation();
    hide();
    const found = unable() || wrong(event.dataTransfer.files);
    if (found) { say(found, 4); return; }
    const one = new DataTransfer();
    one.items.add(event.dataTransfer.files[0]);
    input().files = one.files;
    input().dispatchEvent(new Event('change', {bubbles: true}));
    button().scrollIntoView({block: 'center'});
  });
  on('change', (event) => {
    if (event.target !== input() || !event.target.files.length) return;
    const found = wrong(event.target.files);
    if (found) { event.stopPropagation(); say(found, 4); }
  });
}
"""


def take_dropped_files(server: Any, kinds: str, largest: int) -> None:
    """
    Let every page of a server take files for its button.

    :param server: the viser server.
    :param kinds: what the button takes, as it has them: endings of names, with commas.
    :param largest: bytes of a file.
    """
    from viser._messages import RunJavascriptMessage
    source = SCRIPT.replace('KINDS', json.dumps(kinds)).replace('LARGEST', json.dumps(largest))
    # as viser itself does for plots; who comes later gets it, too
    server.gui._websock_interface.queue_message(RunJavascriptMessage(source=source))
