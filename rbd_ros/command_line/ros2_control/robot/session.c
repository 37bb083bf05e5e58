// Copyright 2026 the rbd_ros developers
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// The session of a robot: what happens to its controller in updates, and what messages may hold.
// This file is the same for every robot; robot.h is made for each.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "robot.h"

typedef ROBOT(memory) Memory;
typedef ROBOT(Parameters) Parameters;
typedef ROBOT(PointLimits) PointLimits;
typedef ROBOT(Points) Points;

enum {
  PLAIN = 3 * JOINTS,    // numbers of position, velocity and acceleration
  FAULT_ROW = 6,         // time, word, joint, three numbers
  OUTCOME_ROW = 8,       // number, status, code, word, joint, quantity, two numbers
  WORD_ROW = 5
};

/// rad or m between reference and robot within which a reference begins to be followed
static const double kNear = 0.05;

struct rbd_session {
  Memory m;
  Parameters base;               // of the step, for the values that the library was made for
  PointLimits limits;
  Points points[RBD_PLACES];
  ROBOT(Feed) feed;              // of the trajectory that goes into the ring
  ROBOT(Target) target;          // of the tip
  ROBOT(Verdict) verdict;
  ROBOT(Noted) noted;
  ROBOT(Sources) directions;     // of gravity that came
  ROBOT(AgeLimits) freshness;    // that they need
  rbd_host host;
  double ros, steady;            // s, by the two clocks
  double refused;                // why the last reference was refused
  double ended;                  // goals that have ended and were told
  double taken;                  // states that the step had taken when one was noted last
  int following;                 // whether the references are those of the robot
  int place;                     // of the trajectory that goes into the ring; -1: none
};

static void copy(const double *from, double *to, size_t count)
{
  memcpy(to, from, count * sizeof(double));
}

static rbd_word word_of(double code, double joint, double a, double b, double c)
{
  const rbd_word word = {code, joint, a, b, c};
  return word;
}

static double state_of(const rbd_session *s) {return s->m.x.command.supervisor.state;}

static int is_working(const rbd_session *s)
{
  const double state = state_of(s);
  return state == RBD_STATE_CODE_RAMPING_IN || state == RBD_STATE_CODE_RUNNING;
}

static void say(const rbd_session *s, rbd_word word) {s->host.say(s->host.self, &word);}

static void release(rbd_session *s, int place)
{
  if (place >= 0) {
    s->host.release(s->host.self, place);
  }
}

// -- the step ------------------------------------------------------------------------------------

static void feed(rbd_session *s, int task)
{
  if (s->place < 0) {
    return;
  }
  s->feed.task = task;
  s->feed.now = s->m.u.now;
  ROBOT(handle_feed)(&s->feed, &s->points[s->place], &s->m.ring, &s->m.x.references.joint.path);
  if (s->feed.left == 0.0) {
    release(s, s->place);
    s->place = -1;
  }
}

static void run(rbd_session *s, int kind)
{
  const int told_most = (int)(sizeof(s->m.y.words) / sizeof(double)) / WORD_ROW;
  s->m.u.kind = kind;
  feed(s, RBD_TURN_CATCH_UP);
  ROBOT(step)(&s->m);
  feed(s, RBD_TURN_FEED);
  if (s->m.y.send != 0.0) {
    s->host.send(s->host.self, s->m.y.torque);
  }
  for (int k = 0; k < (int)s->m.y.told && k < told_most; ++k) {
    const double *const row = s->m.y.words + WORD_ROW * k;
    if (row[0] != s->m.y.answer) {  // who asked will say that one
      say(s, word_of(row[0], row[1], row[2], row[3], row[4]));
    }
  }
}

// -- a life of it --------------------------------------------------------------------------------

static void set_time(rbd_session *s, double ros, double steady)
{
  s->ros = ros;
  s->steady = s->m.u.steady = steady;
  s->m.u.now = s->m.p.command.supervisor.simulated > 0.0 ? ros : steady;
}

static void init(rbd_session *s, const rbd_host *host)
{
  memset(s, 0, sizeof(*s));  // all pages of it are touched here
  ROBOT(init)(&s->m);
  s->base = s->m.p;
  point_limits(&s->limits);
  s->host = *host;
  s->place = -1;
}

static void prepare(rbd_session *s, const double *parameters, int fresh, const double *payload)
{
  // A stop that had no updates to end in, and faults of the last time, are forgotten. What is
  // carried is not, nor the bias of a sensor.
  const ROBOT(Load) load = s->m.x.load;
  double kept[RBD_SENSED];
  copy(s->m.x.sensor.bias, kept, RBD_SENSED);
  ROBOT(init)(&s->m);
  memcpy(&s->m.p, parameters, sizeof(s->m.p));
  set_time(s, s->ros, s->steady);
  memset(&s->feed, 0, sizeof(s->feed));
  memset(&s->target, 0, sizeof(s->target));
  memset(&s->noted, 0, sizeof(s->noted));
  s->noted.divider = STATE_DIVIDER;
  s->ended = s->taken = 0.0;
  s->following = 0;
  release(s, s->place);
  s->place = -1;
  if (fresh) {
    ROBOT(restart_load)(&s->m.x.load, &s->m.p.load);
  } else {
    s->m.x.load = load;
    copy(kept, s->m.x.sensor.bias, RBD_SENSED);
  }
  const double ramp_time = s->m.p.load.ramp_time;
  s->m.p.load.ramp_time = 0.0;  // nothing moves yet: another payload counts at once
  run(s, RBD_KIND_PARAMETERS);
  if (payload) {
    copy(payload, s->m.u.numbers, RBD_PAYLOAD);
    run(s, RBD_KIND_PAYLOAD);
  }
  s->m.p.load.ramp_time = ramp_time;
}

static double activate(rbd_session *s)
{
  run(s, RBD_KIND_ACTIVATE);
  return s->m.y.answer;
}

static void deactivate(rbd_session *s)
{
  run(s, RBD_KIND_LEAVE);
  s->m.u.cause = RBD_CAUSE_DEACTIVATED;
  s->m.u.numbers[0] = RBD_FLOW_WORD_OUTSIDE;
  s->m.u.numbers[1] = -1.0;
  run(s, RBD_KIND_FAULT);
}

// -- requests ------------------------------------------------------------------------------------

static void end_goal(const rbd_session *s, double goal, rbd_word word)
{
  const rbd_outcome outcome = {goal, RBD_GOAL_STATUS_ABORTED, word.code == RBD_POINT_WORD_ENDED ?
    RBD_RESULT_CODE_OLD_HEADER_TIMESTAMP : RBD_RESULT_CODE_INVALID_GOAL, word};
  s->host.end_goal(s->host.self, &outcome);
}

static rbd_word not_running(const rbd_session *s)
{
  return word_of(RBD_REFERENCE_WORD_NOT_RUNNING, -1.0, state_of(s), 0.0, 0.0);
}

static void drop(rbd_session *s, const rbd_request *request)
{
  release(s, request->place);
  if (request->goal != 0.0) {
    end_goal(s, request->goal, not_running(s));
  }
}

static void refuse_reference(rbd_session *s, rbd_word word)
{
  say(s, word);
  run(s, RBD_KIND_REFUSED);
}

static rbd_word verdict_of(const rbd_session *s)
{
  const ROBOT(Verdict) *const v = &s->verdict;
  return word_of(v->word, v->joint, v->a, v->b, v->c);
}

static int handle(rbd_session *s, Points *points, int task)
{
  points->task = task;
  ROBOT(handle_points)(points, &s->limits, &s->verdict);
  return s->verdict.word == 0.0;
}

static void take_points(rbd_session *s, const rbd_request *request)
{
  Points *const points = &s->points[request->place];
  const double goal = request->goal;
  int good;
  if (!is_working(s)) {
    if (goal == 0.0) {
      say(s, not_running(s));
    }
    drop(s, request);
    return;
  }
  points->begin = s->m.u.now;
  points->offset = request->from_now ? s->m.u.now : points->offset;
  copy(s->m.x.references.joint.profile.state, points->start, PLAIN);
  points->use = RBD_USE_TRAJECTORY;
  good = goal != 0.0 || handle(s, points, RBD_TASK_SORT);
  if (good && points->use != RBD_USE_TRAJECTORY) {
    const int passed = points->use == RBD_USE_PASSED;
    for (int j = 0; j < JOINTS; ++j) {
      s->m.u.joints[j] = points->q[j];
      s->m.u.joints[JOINTS + j] = passed || points->rates < 1.0 ? 0.0 : points->qd[j];
      s->m.u.joints[2 * JOINTS + j] = passed || points->rates < 2.0 ? 0.0 : points->qdd[j];
    }
    s->m.u.numbers[0] = points->within;
    release(s, request->place);
    run(s, RBD_KIND_SET_POINT);
    return;
  }
  if (!good || !handle(s, points, RBD_TASK_BEGIN)) {
    release(s, request->place);
    if (goal != 0.0) {
      end_goal(s, goal, verdict_of(s));
    } else {
      refuse_reference(s, verdict_of(s));
    }
    return;
  }
  release(s, s->place);  // the trajectory before is not continued
  s->place = request->place;
  feed(s, RBD_TURN_START);
  s->m.u.numbers[0] = s->feed.number;
  s->m.u.numbers[1] = goal;
  run(s, RBD_KIND_PIECES);
  if (s->m.y.answer != 0.0 && goal != 0.0) {
    end_goal(s, goal, word_of(
      s->m.y.answer, -1.0, s->m.y.answer == RBD_REFERENCE_WORD_OTHER_MODE ? s->m.x.mode :
      state_of(s), 0.0, 0.0));
  }
}

static void take_target(rbd_session *s, const rbd_request *request)
{
  if (!is_working(s)) {
    say(s, not_running(s));
    return;
  }
  s->target.kind = request->kind;
  s->target.now = s->m.u.now;
  copy(request->numbers, s->target.numbers, RBD_NUMBERS);
  ROBOT(handle_target)(
    &s->target, &s->m.x.references.task, &s->m.p.references.task, &s->verdict);
  if (s->verdict.word != 0.0) {
    refuse_reference(s, word_of(
      s->verdict.word, -1.0, s->verdict.a, s->verdict.b, s->verdict.c));
    return;
  }
  copy(s->target.numbers, s->m.u.numbers, RBD_NUMBERS);
  run(s, (int)request->kind);
}

/// The answer of the last step: the word that explains it has numbers.
static void answer_of(const rbd_session *s, rbd_word *answer)
{
  const double *const row = s->m.y.words;
  const int explained = s->m.y.answer != 0.0 && s->m.y.told != 0.0 && row[0] == s->m.y.answer;
  *answer = explained ? word_of(row[0], row[1], row[2], row[3], row[4]) :
    word_of(s->m.y.answer, -1.0, state_of(s), 0.0, 0.0);
}

static void request(rbd_session *s, const rbd_request *request, rbd_word *answer)
{
  const int kind = (int)request->kind;
  run(s, RBD_KIND_ADVANCE);
  if (kind == RBD_KIND_PIECES) {
    take_points(s, request);
  } else if (kind == RBD_KIND_STREAM) {
    const Points *const points = &s->points[request->place];
    copy(points->q, s->m.u.joints, JOINTS);
    copy(points->qd, s->m.u.joints + JOINTS, JOINTS);
    s->m.u.numbers[0] = request->numbers[0];
    release(s, request->place);
    run(s, kind);
  } else if (kind == RBD_KIND_POSE || kind == RBD_KIND_TWIST || kind == RBD_KIND_WRENCH) {
    take_target(s, request);
  } else {
    copy(request->numbers, s->m.u.numbers, RBD_NUMBERS);
    run(s, kind);
  }
  answer_of(s, answer);
}

static void stop(rbd_session *s, rbd_word *answer)
{
  s->m.u.cause = RBD_CAUSE_OPERATOR_STOP;
  run(s, RBD_KIND_ADVANCE);
  memset(s->m.u.numbers, 0, sizeof(s->m.u.numbers));
  s->m.u.numbers[0] = RBD_SUPERVISOR_WORD_STOP_SERVICE;
  s->m.u.numbers[1] = -1.0;  // no joint
  run(s, RBD_KIND_FAULT);
  answer_of(s, answer);
}

static void press(rbd_session *s, int pressed)
{
  s->m.u.pressed = pressed ? 1.0 : 0.0;
  run(s, RBD_KIND_DEAD_MAN);
}

static void set_parameters(rbd_session *s, const double *parameters)
{
  memcpy(&s->m.p, parameters, sizeof(s->m.p));
  run(s, RBD_KIND_ADVANCE);
  run(s, RBD_KIND_PARAMETERS);
}

// -- what every update brings --------------------------------------------------------------------

static void leave(rbd_session *s) {s->following = 0;}

static void follow(rbd_session *s, const double *references)
{
  int near = 1, complete = 1;
  if (!is_working(s)) {
    s->following = 0;
    return;
  }
  for (int j = 0; j < JOINTS; ++j) {
    for (int k = 0; k < 3; ++k) {
      const double given = references[3 * j + k];
      // a velocity that nobody gives is 0
      s->m.u.joints[k * JOINTS + j] = k > 0 && isnan(given) ? 0.0 : given;
    }
    complete = complete && isfinite(references[3 * j]);
    near = near && fabs(
      references[3 * j] - s->m.x.references.joint.profile.state[j]) < kNear;
  }
  // After a start or a stop the robot is not drawn to where the references have gone meanwhile.
  s->following = complete && (s->following || near);
  if (!s->following) {
    return;
  }
  s->m.u.numbers[0] = 0.0;
  run(s, RBD_KIND_SET_POINT);
  if (s->m.y.answer != 0.0 && s->m.y.answer != s->refused) {
    say(s, word_of(s->m.y.answer, -1.0, 0.0, 0.0, 0.0));
  }
  s->refused = s->m.y.answer;
}

static void reading(rbd_session *s, const double *numbers)
{
  copy(numbers, s->m.u.numbers, RBD_SENSED);
  s->m.u.numbers[6] = s->m.u.numbers[7] = 0.0;  // interfaces have no stamps: it is one of now
  run(s, RBD_KIND_READING);
}

static void state(rbd_session *s, const double *numbers, int renewed)
{
  for (int k = 0; k < MEASURED; ++k) {
    const size_t place = kMeasuredPlaces[k];
    s->m.u.q[place] = numbers[3 * k];
    s->m.u.qd[place] = numbers[3 * k + 1];
    s->m.u.effort[place] = numbers[3 * k + 2];
    s->m.u.present[place] = 1.0;
    s->m.u.rank[place] = (double)place;
  }
  s->m.u.source = 0.0;
  s->m.u.renewed = renewed ? 1.0 : 0.0;
  s->m.u.stamp_s = s->m.u.stamp_ns = 0.0;  // interfaces have none
  s->m.u.defect = 0.0;
  s->m.u.velocities = s->m.u.efforts = 1.0;
  run(s, RBD_KIND_STATE);
}

static int carry(rbd_session *s)
{
  // A fault before the first torque leaves on the interfaces what was there; a reset begins there.
  if (state_of(s) == RBD_STATE_CODE_PROBING) {
    run(s, RBD_KIND_CARRY);
    return 1;
  }
  return state_of(s) == RBD_STATE_CODE_FAULT;
}

static void timer(rbd_session *s) {run(s, RBD_KIND_TIMER);}

// -- what is seen of it --------------------------------------------------------------------------

static void look(const rbd_session *s, rbd_status *status)
{
  const double used = s->m.p.sensor.used, freeze = s->m.p.sensor.freeze_time;
  status->state = (int)state_of(s);
  status->mode = (int)s->m.x.mode;
  status->sensed = used == 0.0 || (s->m.u.now - s->m.x.sensor.received <= s->m.p.sensor.timeout &&
    (freeze == 0.0 || s->m.u.now - s->m.x.sensor.changed <= freeze));
  status->measured = s->m.x.sensor.known > 0.0 && status->sensed;
  copy(s->m.x.sensor.wrench, status->wrench, RBD_SENSED);
  status->latched = 0;
  for (size_t k = 0; k < CAUSES; ++k) {
    status->latched |= (uint64_t)(s->m.x.command.supervisor.faults.order[k] != 0.0) << k;
  }
}

static void fault(const rbd_session *s, size_t cause, rbd_word *word)
{
  const double *const row = s->m.x.command.supervisor.faults.details + FAULT_ROW * cause;
  *word = word_of(row[1], row[2], row[3], row[4], row[5]);
}

static void bias(const rbd_session *s, double *numbers)
{
  for (int k = 0; k < RBD_SENSED; ++k) {
    numbers[k] = s->m.p.sensor.sign * s->m.x.sensor.bias[k];
  }
}

static int goals(rbd_session *s, double *progress)
{
  for (; s->ended < s->m.x.references.joint.goal.ended; s->ended += 1.0) {
    const double *const row = s->m.x.references.joint.goal.outcomes +
      OUTCOME_ROW * ((long)s->ended % OUTCOMES);
    const rbd_outcome outcome = {
      row[0], (int)row[1], (int)row[2], {row[3], row[4], row[6], row[7], row[5]}};
    s->host.end_goal(s->host.self, &outcome);
  }
  if (s->m.x.references.joint.goal.active == 0.0) {
    return 0;
  }
  progress[0] = s->m.x.references.joint.goal.active;
  progress[1] = fmax(s->m.u.now - s->m.x.references.joint.goal.start, 0.0);
  progress += 2;
  copy(s->m.x.references.joint.profile.target, progress, PLAIN);
  copy(s->m.x.references.joint.goal.actual, progress + PLAIN, 2 * JOINTS);
  copy(s->m.x.references.joint.goal.error, progress + PLAIN + 2 * JOINTS, 2 * JOINTS);
  return 1;
}

static int note(rbd_session *s, int watched, double *row)
{
  const int is_new = s->m.x.taken != s->taken;
  s->taken = s->m.x.taken;
  if (!is_new || !watched) {
    return 0;
  }
  ROBOT(note_state)(&s->noted, &s->m.x, &s->m.p);
  if (s->noted.count != 0.0) {
    return 0;
  }
  row[0] = s->noted.now;
  row[1] = s->noted.tracks;
  row += 2;
  copy(s->noted.sent, row, JOINTS);
  for (int j = 0; j < JOINTS; ++j) {
    row[JOINTS + j] = s->noted.q[kPlaces[j]];
    row[2 * JOINTS + j] = s->noted.qd[kPlaces[j]];
  }
  copy(s->noted.reference, row + 3 * JOINTS, PLAIN);
  return 1;
}

// -- what messages hold --------------------------------------------------------------------------

static void points(rbd_session *s, int place, rbd_points *view)
{
  Points *const p = &s->points[place];
  const rbd_points found = {
    &p->count, &p->rates, &p->linear, &p->offset, &p->begin, &p->goal, &p->goal_time, p->times,
    p->held, p->q, p->qd, p->qdd, p->path, p->tolerance};
  *view = found;
}

static int handle_points(
  rbd_session *s, int place, int task, const double *limits, rbd_word *wrong)
{
  ROBOT(Verdict) verdict;
  PointLimits given;
  memset(&verdict, 0, sizeof(verdict));
  memcpy(&given, limits, sizeof(given));
  s->points[place].task = task;
  ROBOT(handle_points)(&s->points[place], &given, &verdict);
  *wrong = word_of(verdict.word, verdict.joint, verdict.a, verdict.b, verdict.c);
  return verdict.word == 0.0;
}

static int takes_partial(const double *limits)
{
  PointLimits given;
  memcpy(&given, limits, sizeof(given));
  return given.partial > 0.0;
}

static void forget_directions(rbd_session *s, int same_clock)
{
  no_directions(&s->directions);
  direction_limits(&s->freshness);
  s->freshness.same_clock = same_clock ? 1.0 : 0.0;
}

static int direction(
  rbd_session *s, const rbd_direction *given, double *down, rbd_word *wrong)
{
  ROBOT(Tilt) tilt;
  memset(&tilt, 0, sizeof(tilt));
  tilt.now = given->now;
  tilt.stamp_s = given->stamp_s;
  tilt.stamp_ns = given->stamp_ns;
  tilt.missing = given->missing;
  copy(given->turn, tilt.turn, 4);
  copy(given->axes, tilt.axes, 9);
  ROBOT(find_down)(&tilt, &s->directions, &s->freshness);
  *wrong = word_of(tilt.word, -1.0, tilt.a, 0.0, 0.0);
  copy(tilt.down, down, 4);
  return tilt.fresh != 0.0;
}

static int miss_direction(const rbd_session *s, double now, rbd_word *word)
{
  *word = word_of(
    s->directions.word[0], -1.0, s->directions.word_a[0], s->directions.word_b[0], 0.0);
  return now <= s->directions.until[0] ? 0 : s->directions.probed[0] < 0.0 ? 1 :
         word->code != 0.0 ? 2 : 3;
}

static int body(const rbd_body *given, double *payload, rbd_word *wrong)
{
  ROBOT(Body) judged;
  memset(&judged, 0, sizeof(judged));
  judged.mass = given->mass;
  copy(given->com, judged.com, 3);
  copy(given->inertia, judged.inertia, 6);
  copy(given->axes, judged.axes, 9);
  copy(given->origin, judged.origin, 3);
  ROBOT(judge_body)(&judged);
  copy(judged.numbers, payload, RBD_PAYLOAD);
  *wrong = word_of(judged.word, -1.0, judged.a, judged.b, judged.c);
  return judged.word == 0.0;
}

// -- parameters ----------------------------------------------------------------------------------

/// Whether values of a live parameter are those that the library was made for.
static int is_usual(const rbd_live *row, const double *live)
{
  for (size_t k = row->at; k < row->at + row->size; ++k) {
    if (live[k] != kLiveValues[k] && !(isnan(live[k]) && isnan(kLiveValues[k]))) {
      return 0;
    }
  }
  return 1;
}

static void fill(
  const rbd_session *s, const double *live, int mode, int simulated, double *parameters,
  double *limits)
{
  Parameters p = s->base;
  PointLimits found;
  point_limits(&found);
  set_clock(&p, simulated);
  set_mode(&p, mode);
  for (size_t k = 0; k < kLiveCount; ++k) {
    if (!is_usual(&kLive[k], live)) {
      set_live(k, live + kLive[k].at, &p, &found);
    }
  }
  ROBOT(derive_parameters)(&p);
  memcpy(parameters, &p, sizeof(p));
  memcpy(limits, &found, sizeof(found));
}

/// Entry j of a live parameter, where there is one (k < 0) and it is given; else another number.
static double entry(const double *live, int k, size_t j, double otherwise)
{
  if (k < 0 || kLive[k].size == 0 || isnan(live[kLive[k].at])) {
    return otherwise;
  }
  return live[kLive[k].at + j % kLive[k].size];
}

static int refuse(
  rbd_refusal *why, const char *pattern, const char *about, const char *unit, double a, double b,
  double c)
{
  why->pattern = pattern;
  snprintf(why->about, sizeof(why->about), "%s", about);
  why->unit = unit;
  why->numbers[0] = a;
  why->numbers[1] = b;
  why->numbers[2] = c;
  return 0;
}

static int judge_gains(const double *live, rbd_refusal *why)
{
  for (size_t k = 0; k < kGainRulesCount; ++k) {
    const GainRule *const rule = &kGainRules[k];
    if (rule->gains[0] < 0 || rule->gains[1] < 0) {
      continue;  // they cannot change
    }
    for (size_t j = 0; j < JOINTS; ++j) {
      ROBOT(GainCase) gains;
      memset(&gains, 0, sizeof(gains));
      gains.stiffness = entry(live, rule->gains[0], j, 0.0);
      gains.damping = entry(live, rule->gains[1], j, 0.0);
      gains.integral = entry(live, rule->gains[2], j, 0.0);
      gains.period = kGainPeriod;
      gains.delay = kGainDelay;
      ROBOT(judge_gains)(&gains);
      if (gains.wrong > 0.0) {
        char integral[32];
        snprintf(integral, sizeof(integral), "%g", gains.integral);
        return refuse(
          why, rule->sentences[(int)gains.wrong - 1], integral, "", gains.stiffness,
          gains.damping, gains.most);
      }
    }
  }
  return 1;
}

static int judge_springs(const double *live, int mode, rbd_refusal *why)
{
  for (size_t k = 0; k < kSpringRulesCount; ++k) {
    const SpringRule *const rule = &kSpringRules[k];
    if (!(rule->always || rule->mode == mode) || rule->gains[0] < 0 || rule->gains[1] < 0) {
      continue;  // others do not act
    }
    for (size_t j = 0; j < rule->count; ++j) {
      ROBOT(SpringCase) spring;
      memset(&spring, 0, sizeof(spring));
      // not given: that of the table, a damping that fits
      spring.stiffness = entry(live, rule->gains[0], j, rule->stiffness[j]);
      spring.damping = entry(live, rule->gains[1], j, -1.0);
      spring.ratio = entry(live, rule->gains[2], j, 0.0);
      spring.inertia = rule->inertia[j];
      spring.usual = rule->usual[j];
      spring.period = kGainPeriod;
      spring.delay = kGainDelay;
      ROBOT(judge_spring)(&spring);
      if (spring.wrong > 0.0) {
        return refuse(
          why, rule->sentences[(int)spring.wrong - 1], rule->places[j], rule->units[j],
          spring.stiffness, spring.damping, spring.most);
      }
    }
  }
  return 1;
}

static int judge_forces(const double *live, rbd_refusal *why)
{
  for (size_t k = 0; k < kForceRulesCount; ++k) {
    const ForceRule *const rule = &kForceRules[k];
    ROBOT(ForceCase) force = rule->given;
    for (int i = 0; i < 4; ++i) {
      force.gains[i] = entry(live, rule->gains[i], 0, force.gains[i]);
    }
    ROBOT(judge_force)(&force);
    if (force.wrong > 0.0) {
      return refuse(
        why, rule->sentences[(int)force.wrong - 1], "", "", force.damping, force.most, 0.0);
    }
  }
  return 1;
}

static int judge_payload(const double *live, double *payload, rbd_word *wrong)
{
  rbd_body given = {0.0, {0.0}, {0.0}, {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}, {0.0}};
  given.mass = live[kLive[kPayload[0]].at];
  copy(live + kLive[kPayload[1]].at, given.com, 3);
  copy(live + kLive[kPayload[2]].at, given.inertia, 6);
  return body(&given, payload, wrong);
}

static int judge(const double *live, int mode, rbd_refusal *why)
{
  double numbers[RBD_PAYLOAD];
  memset(why, 0, sizeof(*why));
  return judge_payload(live, numbers, &why->word) && judge_gains(live, why) &&
         judge_springs(live, mode, why) && judge_forces(live, why);
}

static int judge_change(const double *live, const double *begun, rbd_refusal *why)
{
  Parameters p;
  ROBOT(GravityCase) gravity;
  memset(why, 0, sizeof(*why));
  if (kGravity < 0) {
    return 1;
  }
  memcpy(&p, begun, sizeof(p));
  memset(&gravity, 0, sizeof(gravity));
  copy(live + kLive[kGravity].at, gravity.gravity, 3);
  copy(p.load.gravity, gravity.started, 3);
  ROBOT(judge_gravity)(&gravity);
  return gravity.far > 0.0 ? refuse(
    why, kGravityFar, "", "", gravity.started[0], gravity.started[1], gravity.started[2]) : 1;
}

static void payload(const double *live, double *numbers)
{
  rbd_word wrong;
  (void)judge_payload(live, numbers, &wrong);
}

static const rbd_robot kRobot = {
  .version = RBD_SESSION_VERSION, .size = sizeof(rbd_robot), ROBOT_TABLES,
  .session_bytes = sizeof(rbd_session), .parameters = sizeof(Parameters) / sizeof(double),
  .limits = sizeof(PointLimits) / sizeof(double),
  .init = init, .prepare = prepare, .activate = activate, .deactivate = deactivate,
  .set_time = set_time, .stop = stop, .press = press, .set_parameters = set_parameters,
  .request = request, .drop = drop, .follow = follow, .leave = leave, .reading = reading,
  .state = state, .carry = carry, .timer = timer, .look = look, .fault = fault, .bias = bias,
  .goals = goals, .note = note, .points = points, .handle_points = handle_points,
  .takes_partial = takes_partial, .forget_directions = forget_directions, .direction = direction,
  .miss_direction = miss_direction, .body = body, .fill = fill, .judge = judge,
  .judge_change = judge_change, .payload = payload};

const rbd_robot *rbd_robot_library(void) {return &kRobot;}
