// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// Run a session by its C interface: each line names a call and has its numbers; what the session
// calls back, and what the call gives, is written as lines of numbers.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "session.h"

enum {MOST = 4096, MOST_ROWS = 500};

static const rbd_robot *robot;
static rbd_session *session;
static double *parameters, *limits;
static double last_now;
static int carries;

/// Numbers of scripts may be any.
static int whole(double number) {return fabs(number) < 1e6 ? (int)number : -7;}

static void put(const char *name, const double *numbers, size_t count)
{
  printf("%s", name);
  for (size_t k = 0; k < count; ++k) {
    printf(" %.17g", numbers[k]);
  }
  printf("\n");
}

static void send(void *self, const double *torque)
{
  (void)self;
  put("send", torque, robot->joint_count);
}

static void say(void *self, const rbd_word *word)
{
  (void)self;
  put("say", &word->code, 5);
}

static void end_goal(void *self, const rbd_outcome *outcome)
{
  const double head[] = {outcome->goal, outcome->status, outcome->code};
  (void)self;
  put("end", head, 3);
  put("why", &outcome->word.code, 5);
}

static void release_place(void *self, int place)
{
  const double number = place;
  (void)self;
  put("release", &number, 1);
}

static void put_answer(const rbd_answer *answer)
{
  put("answer", &answer->granted, 1);
  for (int k = 0; k < (int)answer->count; ++k) {
    put("because", &answer->words[k].code, 5);
  }
}

static void refuse(int goal)
{
  const rbd_request request = {RBD_KIND_REFUSED, 0.0, 0, -1, 0, 0.0, {0.0}};
  rbd_answer answer;
  if (!goal) {
    robot->request(session, &request, &answer);
  }
}

static int judge(int place, int task)
{
  rbd_word wrong;
  const int good = robot->handle_points(session, place, task, limits, &wrong);
  if (!good) {
    put("wrong", &wrong.code, 5);
  }
  return good;
}

/// place, goal, from_now, rates, offset, count, goal_time, then a row for each point: its time and
/// what it has; a goal has tolerances of 0, which are those of the parameters
static void follow_points(const double *v)
{
  const size_t n = robot->joint_count;
  const int place = whole(v[0]), goal = v[1] != 0.0;
  rbd_points points;
  rbd_request request;
  rbd_answer answer;
  memset(&request, 0, sizeof(request));
  robot->points(session, place, &points);
  *points.goal = v[1];
  *points.rates = v[3];
  *points.offset = v[4];
  *points.count = v[5];
  *points.goal_time = v[6];
  *points.linear = robot->linear;
  memset(points.held, 0, n * sizeof(double));
  memset(points.path, 0, 3 * n * sizeof(double));
  memset(points.tolerance, 0, 3 * n * sizeof(double));
  v += 7;
  for (size_t i = 0; (double)i < *points.count && i < MOST_ROWS; ++i) {
    double * const rows[] = {points.q, points.qd, points.qdd};
    points.times[i] = *v++;
    for (int k = 0; k < 3 && k <= *points.rates; ++k, v += n) {
      memcpy(rows[k] + n * i, v, n * sizeof(double));
    }
  }
  if (!judge(place, RBD_TASK_CHECK) || (goal && (
      !judge(place, RBD_TASK_SPEEDS) || !judge(place, RBD_TASK_TOLERANCES))) ||
    !judge(place, RBD_TASK_PREPARE))
  {
    refuse(goal);
    return;
  }
  *points.begin = last_now;
  if (goal && !judge(place, RBD_TASK_COMING)) {
    return;
  }
  request.kind = RBD_KIND_PIECES;
  request.place = place;
  request.from_now = v[2 - 7] != 0.0;
  request.goal = *points.goal;
  robot->request(session, &request, &answer);
}

static void stream(const double *v)
{
  const size_t n = robot->joint_count;
  rbd_points points;
  rbd_request request;
  rbd_answer answer;
  memset(&request, 0, sizeof(request));
  request.place = whole(v[0]);
  robot->points(session, request.place, &points);
  *points.count = 1.0;
  *points.rates = v[1];
  points.times[0] = 0.0;
  for (size_t j = 0; j < n; ++j) {
    points.held[j] = v[1];
    points.q[j] = points.qd[j] = 0.0;
    (v[1] > 0.0 ? points.qd : points.q)[j] = v[2 + j];
  }
  if (judge(request.place, RBD_TASK_CHECK)) {
    request.kind = RBD_KIND_STREAM;
    robot->request(session, &request, &answer);
  } else {
    refuse(0);
  }
}

static void ask(const double *v)
{
  rbd_request request;
  rbd_answer answer;
  memset(&request, 0, sizeof(request));
  request.kind = whole(v[0]);
  request.stops = v[1];
  request.place = -1;
  memcpy(request.numbers, v + 2, sizeof(request.numbers));
  robot->request(session, &request, &answer);
  put_answer(&answer);
}

/// 0: a sign, 1: feedback was sent, 2: whether the client is silent; goal, stamp, steady time, and
/// number of the active goal, s of that, whether it rests
static void lease(const double *v)
{
  uint8_t goal[16];
  memset(goal, (unsigned char)whole(v[1]), sizeof(goal));
  if (v[0] == 0.0) {
    robot->sign(session, goal, whole(v[2]), (uint32_t)whole(v[3]));
  } else if (v[0] == 1.0) {
    robot->told(session, goal, whole(v[2]), (uint32_t)whole(v[3]), v[4]);
  } else {
    const double silent = robot->is_silent(
      session, v + 5, v[4], robot->values[robot->goal_lease_at]);
    put("silent", &silent, 1);
  }
}

/// Count the publishers of a topic; hold if there are several from now on.
static void crowd(int topic, int count)
{
  const rbd_request request = {RBD_KIND_HOLD, 0.0, 0, -1, 0, 0.0, {0.0}};
  rbd_answer answer;
  const int follows = robot->count_publishers(session, (size_t)topic, (size_t)count);
  const double number = follows;
  put("crowded", &number, 1);
  if (follows == 2) {
    robot->request(session, &request, &answer);
  }
}

/// Return where the value of a parameter is.
static size_t place_of(const char *name)
{
  size_t k = 0;
  while (strcmp(robot->live[k].name, name) != 0) {
    ++k;
  }
  return robot->live[k].at;
}

/// Fill in the parameters of other modes: of the robot, and of goals (-1: none).
static void fill(int mode, int goal_mode)
{
  double *const values = malloc(robot->value_count * sizeof(*values));
  memcpy(values, robot->values, robot->value_count * sizeof(*values));
  values[robot->mode_at] = mode;
  values[place_of("goal_mode")] = goal_mode;
  robot->fill(session, values, 0, parameters, limits);
  free(values);
}

static void call(const char *name, double *v)
{
  const rbd_host host = {NULL, send, say, end_goal, release_place};
  rbd_answer answer;
  rbd_status status;
  if (strcmp(name, "init") == 0) {
    robot->init(session, &host);
    fill(whole(v[0]), whole(v[1]));
  } else if (strcmp(name, "prepare") == 0) {
    robot->prepare(session, parameters, v[0] != 0.0, NULL);
  } else if (strcmp(name, "activate") == 0) {
    const double refused = robot->activate(session, carries);
    put("refused", &refused, 1);
  } else if (strcmp(name, "deactivate") == 0) {
    robot->deactivate(session);
  } else if (strcmp(name, "time") == 0) {
    last_now = v[1];
    robot->set_time(session, v[0], v[1]);
  } else if (strcmp(name, "stop") == 0) {
    robot->stop(session, v[0], &answer);
    put_answer(&answer);
  } else if (strcmp(name, "press") == 0) {
    robot->press(session, v[0] != 0.0);
  } else if (strcmp(name, "request") == 0) {
    ask(v);
  } else if (strcmp(name, "points") == 0) {
    follow_points(v);
  } else if (strcmp(name, "stream") == 0) {
    stream(v);
  } else if (strcmp(name, "mode") == 0) {
    fill(whole(v[0]), whole(v[1]));
    robot->set_parameters(session, parameters);
  } else if (strcmp(name, "values") == 0) {
    robot->fill(session, v + 1, 0, parameters, limits);
    robot->set_parameters(session, parameters);
  } else if (strcmp(name, "follow") == 0) {
    robot->follow(session, v);
  } else if (strcmp(name, "leave") == 0) {
    robot->leave(session);
  } else if (strcmp(name, "state") == 0) {
    robot->state(session, v + 1, v[0] != 0.0);
  } else if (strcmp(name, "carry") == 0) {
    carries = v[0] != 0.0;
  } else if (strcmp(name, "crowd") == 0) {
    crowd(whole(v[0]), whole(v[1]));
  } else if (strcmp(name, "lease") == 0) {
    lease(v);
  } else if (strcmp(name, "timer") == 0) {
    robot->timer(session);
  } else if (strcmp(name, "note") == 0) {
    if (robot->note(session, v[0] != 0.0, v + 1)) {
      put("noted", v + 1, 2 + 6 * robot->joint_count);
    }
  } else if (strcmp(name, "look") == 0) {
    robot->look(session, &status);
    const double seen[] = {status.state, status.mode, status.sensed, status.measured,
      (double)status.latched, (double)status.beats, status.gate.code, status.gate.a,
      status.switches};
    put("seen", seen, 9);
    if (robot->goals(session, v)) {
      put("progress", v, 3 + 7 * robot->joint_count);
    }
  } else {
    fprintf(stderr, "%s is no call\n", name);
    exit(1);
  }
}

int main(void)
{
  static char line[1 << 16];
  double v[MOST];
  robot = rbd_robot_library();
  session = calloc(1, robot->session_bytes);
  parameters = calloc(robot->parameters, sizeof(double));
  limits = calloc(robot->limits, sizeof(double));
  while (fgets(line, sizeof(line), stdin) != NULL) {
    char *at = strchr(line, ' ');
    size_t count = 0;
    memset(v, 0, sizeof(v));
    while (at != NULL && count < MOST) {
      char *end;
      *at = '\0';
      v[count] = strtod(at + 1, &end);
      if (end == at + 1) {
        break;
      }
      ++count;
      at = *end == ' ' ? end : NULL;
    }
    line[strcspn(line, "\n")] = '\0';
    call(line, v);
    puts("done");
  }
  free(limits);
  free(parameters);
  free(session);
  return 0;
}
