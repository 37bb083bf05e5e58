// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// Fills in and judges values: simulated, whether driven, values of all; then writes what was made.
#include <stdio.h>
#include <stdlib.h>

#include "session.h"

int main(void)
{
  const rbd_robot *const robot = rbd_robot_library();
  rbd_session *const session = calloc(1, robot->session_bytes);
  const rbd_host host = {0};
  double *const values = calloc(robot->value_count, sizeof(double));
  double *const p = calloc(robot->parameters, sizeof(double));
  double *const limits = calloc(robot->limits, sizeof(double));
  double *const begun = calloc(robot->parameters, sizeof(double));
  double head[2];
  robot->init(session, &host);
  robot->fill(session, robot->values, 0, begun, limits);
  while (fread(head, sizeof(double), 2, stdin) == 2 &&
    fread(values, sizeof(double), robot->value_count, stdin) == robot->value_count)
  {
    rbd_word word;
    double told[6];
    robot->fill(session, values, head[0] != 0.0, p, limits);
    told[0] = robot->judge(values, head[1] != 0.0 ? begun : NULL, &word);
    told[1] = word.code;
    told[2] = word.joint;
    told[3] = word.a;
    told[4] = word.b;
    told[5] = word.c;
    fwrite(p, sizeof(double), robot->parameters, stdout);
    fwrite(limits, sizeof(double), robot->limits, stdout);
    fwrite(told, sizeof(double), 6, stdout);
  }
  return 0;
}
