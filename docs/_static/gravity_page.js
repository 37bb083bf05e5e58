/*
 * Sliders for the angles of an arm, and bars for the torques that hold it against gravity.
 *
 * A page has an element with the class "gravity" and the script of the robot (arm.js, which
 * docs/conf.py writes when the pages are built). What is computed is in `torques`; the rest draws.
 */
(function (page) {
  'use strict';

  const GRAVITY = [0, 0, -9.81];
  const RANGE = 180;        // degrees to either side
  const WIDTH = 50;         // per cent of a bar's room for the largest torque

  /* Return the torques (N m) that hold a robot at angles (degrees). */
  function torques(robot, degrees) {
    const q = degrees.map((angle) => angle * Math.PI / 180);
    return Array.from(robot.gravity(q, GRAVITY));
  }

  /* Return the place of a bar, in per cent of its room with zero in the middle. */
  function bar(torque, largest) {
    const length = Math.abs(torque) / largest * WIDTH;
    return {left: torque < 0 ? 50 - length : 50, width: length};
  }

  function element(parent, kind, name, text = '') {
    const made = parent.appendChild(document.createElement(kind));
    made.className = name;
    made.textContent = text;
    return made;
  }

  function row(parent, joint, changed) {
    const line = element(parent, 'div', 'gravity-row');
    const label = element(line, 'label', 'gravity-joint', joint);
    const slider = element(line, 'input', 'gravity-slider');
    Object.assign(slider, {type: 'range', min: -RANGE, max: RANGE, value: 0,
                           id: `gravity-${joint}`});
    label.htmlFor = slider.id;
    const angle = element(line, 'span', 'gravity-number');
    const room = element(line, 'div', 'gravity-room');
    const filling = element(room, 'div', 'gravity-bar');
    const torque = element(line, 'span', 'gravity-number');
    slider.addEventListener('input', changed);
    return {slider, angle, filling, torque};
  }

  function show(parent, robot) {
    const rows = robot.joints.map((joint) => row(parent, joint, draw));
    let largest = 1;        // grows with what was seen, so that bars can be compared in time

    function draw() {
      const degrees = rows.map(({slider}) => Number(slider.value));
      const found = torques(robot, degrees);
      largest = Math.max(largest, ...found.map(Math.abs));
      rows.forEach(({angle, filling, torque}, k) => {
        const {left, width} = bar(found[k], largest);
        angle.textContent = `${degrees[k]}\u00b0`;
        torque.textContent = `${found[k].toFixed(2)} N m`;
        filling.style.left = `${left}%`;
        filling.style.width = `${width}%`;
      });
    }
    draw();
  }

  if (typeof module === 'object' && module.exports) {
    module.exports = {torques, bar};
  } else {
    page.addEventListener('DOMContentLoaded', () => {
      for (const parent of document.querySelectorAll('.gravity')) {
        page.arm.load().then((robot) => show(parent, robot)).catch((error) => {
          parent.textContent = `The robot could not be loaded: ${error.message}`;
        });
      }
    });
  }
})(globalThis);
