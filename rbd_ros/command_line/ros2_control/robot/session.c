// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

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

static const rbd_robot kRobot;  // at the end

enum {
  PLAIN = 3 * JOINTS,    // numbers of position, velocity and acceleration
  FAULT_ROW = 6,         // time, word, joint, three numbers
  WORD_ROW = 5
};

struct rbd_session {
  Memory m;
  Parameters base;               // of the step, for the values that the library was made for
  PointLimits limits;
  Points points[RBD_PLACES];
  ROBOT(Feed) feed;              // of the trajectory that goes into the ring
  ROBOT(Target) target;          // of the tip
  ROBOT(Verdict) verdict;
  ROBOT(Noted) noted;
  ROBOT(Session) asked;          // what is asked for, and the answer
  ROBOT(Seen) seen;              // what others see and are told
  ROBOT(Progress) progress;      // of the active goal
  ROBOT(Outcomes) outcomes;      // of those that have ended
  ROBOT(Following) following;    // of references that come with updates
  ROBOT(Leases) leases;          // of goals; slower threads alone know it
  ROBOT(Publishers) publishers[RBD_TOPICS];  // slower threads alone know them
  ROBOT(Sources) directions;     // of gravity that came
  ROBOT(AgeLimits) freshness;    // that they need
  rbd_host host;
  double ros, steady;            // s, by the two clocks
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

static rbd_word word_at(const double *row)
{
  return word_of(row[0], row[1], row[2], row[3], row[4]);
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

static void run(rbd_session *s)
{
  feed(s, RBD_TURN_CATCH_UP);
  ROBOT(step)(&s->m);
  feed(s, RBD_TURN_FEED);
  if (s->m.y.send != 0.0) {
    s->host.send(s->host.self, s->m.y.torque);
  }
  ROBOT(gather_words)(&s->seen, &s->m.x, &s->m.y);
  for (int k = 0; k < (int)s->seen.told; ++k) {
    say(s, word_at(s->seen.words + WORD_ROW * k));
  }
}

static void happen(rbd_session *s, int kind)
{
  s->m.u.kind = kind;
  run(s);
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
  ROBOT(Inputs) given;
  memset(s, 0, sizeof(*s));  // all pages of it are touched here
  ROBOT(init)(&s->m);
  s->base = s->m.p;
  memcpy(&given, kGiven, sizeof(given));
  ROBOT(fill_point_limits)(&s->limits, &given);
  s->leases.all_clients = kGoalLeaseForAll;
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
  memset(&s->outcomes, 0, sizeof(s->outcomes));
  memset(&s->following, 0, sizeof(s->following));
  s->seen.causes = s->seen.ended = 0.0;
  s->seen.period = kHeartbeatPeriod;
  s->seen.due = s->steady;
  release(s, s->place);
  s->place = -1;
  ROBOT(begin_state)(&s->m.x, &s->m.p);
  if (!fresh) {
    s->m.x.load = load;
    copy(kept, s->m.x.sensor.bias, RBD_SENSED);
  }
  const double ramp_time = s->m.p.load.ramp_time;
  s->m.p.load.ramp_time = 0.0;  // nothing moves yet: another payload counts at once
  happen(s, RBD_KIND_PARAMETERS);
  if (payload) {
    copy(payload, s->m.u.numbers, RBD_PAYLOAD);
    happen(s, RBD_KIND_PAYLOAD);
  }
  s->m.p.load.ramp_time = ramp_time;
}

static double activate(rbd_session *s, int carried)
{
  s->asked.carrying = carried;
  happen(s, RBD_KIND_ACTIVATE);
  return s->m.y.answer;
}

static void deactivate(rbd_session *s)
{
  happen(s, RBD_KIND_LEAVE);
}

// -- requests ------------------------------------------------------------------------------------

static void give(const rbd_session *s, rbd_answer *answer)
{
  answer->granted = s->asked.answer.granted;
  answer->count = s->asked.answer.count;
  memcpy(answer->words, s->asked.answer.words, sizeof(answer->words));
}

static void end_goal(const rbd_session *s, double goal, rbd_word word)
{
  const rbd_outcome outcome = {goal, RBD_GOAL_STATUS_ABORTED, word.code == RBD_POINT_WORD_ENDED ?
    RBD_RESULT_CODE_OLD_HEADER_TIMESTAMP : RBD_RESULT_CODE_INVALID_GOAL, word};
  s->host.end_goal(s->host.self, &outcome);
}

/// Whether references are taken now; if not, the answer says why.
static int admits(rbd_session *s)
{
  ROBOT(admit_reference)(&s->asked, &s->m.x);
  return s->asked.due != 0.0;
}

static rbd_word answered(const rbd_session *s) {return word_at(s->asked.answer.words);}

static void drop(rbd_session *s, const rbd_request *request)
{
  release(s, request->place);
  if (request->goal != 0.0) {
    (void)admits(s);
    end_goal(s, request->goal, answered(s));
  }
}

static void refuse_reference(rbd_session *s, rbd_word word)
{
  say(s, word);
  happen(s, RBD_KIND_REFUSED);
}

static rbd_word verdict_of(const rbd_session *s)
{
  const ROBOT(Verdict) *const v = &s->verdict;
  return word_of(v->word, v->joint, v->a, v->b, v->c);
}

/// Handle points, of which there is room for so many.
static int handle(Points *points, int task, PointLimits *limits, ROBOT(Verdict) *verdict)
{
  if (!(points->count >= 1.0 && points->count <= (double)kRobot.most_points)) {
    const ROBOT(Verdict) none = {.word = RBD_POINT_WORD_NO_POINTS, .joint = -1.0};
    *verdict = none;
    return 0;
  }
  points->task = task;
  ROBOT(handle_points)(points, limits, verdict);
  return verdict->word == 0.0;
}

static void take_points(rbd_session *s, const rbd_request *request)
{
  Points *const points = &s->points[request->place];
  const double goal = request->goal;
  int good;
  if (!admits(s)) {
    if (goal == 0.0) {
      say(s, answered(s));
    }
    drop(s, request);
    return;
  }
  points->begin = s->m.u.now;
  points->offset = request->from_now ? s->m.u.now : points->offset;
  copy(s->m.x.references.joint.profile.state, points->start, PLAIN);
  points->use = RBD_USE_TRAJECTORY;
  good = goal != 0.0 || handle(points, RBD_TASK_SORT, &s->limits, &s->verdict);
  if (good && points->use != RBD_USE_TRAJECTORY) {
    ROBOT(ask_point)(points, &s->m.u);
    release(s, request->place);
    run(s);
    return;
  }
  if (!good || !handle(points, RBD_TASK_BEGIN, &s->limits, &s->verdict)) {
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
  ROBOT(ask_pieces)(&s->feed, points, &s->m.u);
  run(s);
  if (s->m.y.answer != 0.0 && goal != 0.0) {
    ROBOT(answer_request)(&s->asked, &s->m.x, &s->m.u, &s->m.p, &s->m.y);
    end_goal(s, goal, answered(s));
  }
}

static void take_target(rbd_session *s, const rbd_request *request)
{
  if (!admits(s)) {
    say(s, answered(s));
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
  ROBOT(ask_target)(&s->target, &s->m.u);
  run(s);
}

static void request(rbd_session *s, const rbd_request *request, rbd_answer *answer)
{
  const int stands = request->place >= 0 && request->place < RBD_PLACES;
  const int kind = stands || (request->kind != RBD_KIND_PIECES &&
    request->kind != RBD_KIND_STREAM) ? request->kind : -1;
  s->asked.kind = kind;
  s->asked.before = request->stops;
  ROBOT(check_request)(&s->asked);
  if (s->asked.due == 0.0) {
    give(s, answer);
    return;
  }
  happen(s, RBD_KIND_ADVANCE);
  if (kind == RBD_KIND_PIECES) {
    take_points(s, request);
  } else if (kind == RBD_KIND_STREAM && !admits(s)) {
    say(s, answered(s));
    release(s, request->place);
    give(s, answer);
    return;
  } else if (kind == RBD_KIND_STREAM) {
    ROBOT(ask_stream)(&s->points[request->place], &s->m.u);
    release(s, request->place);
    run(s);
  } else if (kind == RBD_KIND_POSE || kind == RBD_KIND_TWIST || kind == RBD_KIND_WRENCH) {
    take_target(s, request);
  } else {
    copy(request->numbers, s->m.u.numbers, RBD_NUMBERS);
    happen(s, kind);
  }
  ROBOT(answer_request)(&s->asked, &s->m.x, &s->m.u, &s->m.p, &s->m.y);
  give(s, answer);
}

static void stop(rbd_session *s, double number, rbd_answer *answer)
{
  s->asked.stops = number;
  ROBOT(ask_stop)(&s->asked, &s->m.x, &s->m.u);
  if (s->asked.due != 0.0) {
    run(s);
  }
  ROBOT(answer_stop)(&s->asked, &s->m.x);
  give(s, answer);
}

static void press(rbd_session *s, int pressed)
{
  s->m.u.pressed = pressed ? 1.0 : 0.0;
  happen(s, RBD_KIND_DEAD_MAN);
}

static void set_parameters(rbd_session *s, const double *parameters)
{
  memcpy(&s->m.p, parameters, sizeof(s->m.p));
  happen(s, RBD_KIND_ADVANCE);
  happen(s, RBD_KIND_PARAMETERS);
}

// -- what every update brings --------------------------------------------------------------------

static void leave(rbd_session *s) {s->following.on = 0.0;}

static void follow(rbd_session *s, const double *references)
{
  copy(references, s->following.given, PLAIN);
  ROBOT(begin_following)(&s->following, &s->m.x, &s->m.u);
  if (s->following.on == 0.0) {
    return;
  }
  run(s);
  ROBOT(end_following)(&s->following, &s->m.y);
  if (s->following.news != 0.0) {
    ROBOT(answer_request)(&s->asked, &s->m.x, &s->m.u, &s->m.p, &s->m.y);
    say(s, answered(s));
  }
}

static void reading(rbd_session *s, const double *numbers)
{
  copy(numbers, s->m.u.numbers, RBD_SENSED);
  s->m.u.numbers[6] = s->m.u.numbers[7] = 0.0;  // interfaces have no stamps: it is one of now
  happen(s, RBD_KIND_READING);
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
  happen(s, RBD_KIND_STATE);
}

/// Carry what another controller held before the start.
static void carry(rbd_session *s)
{
  ROBOT(ask_carry)(&s->asked, &s->m.x, &s->m.u);
  if (s->asked.due != 0.0) {
    run(s);
  }
}

static void timer(rbd_session *s)
{
  if (s->asked.carrying != 0.0) {
    carry(s);
  }
  happen(s, RBD_KIND_TIMER);
  ROBOT(beat)(&s->seen, &s->m.u);
}

// -- what is seen of it --------------------------------------------------------------------------

static void look(rbd_session *s, rbd_status *status)
{
  ROBOT(see)(&s->seen, &s->m.x, &s->m.p);
  status->state = (int)s->seen.state;
  status->mode = (int)s->seen.mode;
  status->sensed = (int)s->seen.sensed;
  status->measured = (int)s->seen.measured;
  status->beats = (uint64_t)s->seen.beats;
  copy(s->seen.wrench, status->wrench, RBD_SENSED);
  status->gate = word_of(s->seen.gate.word, -1.0, s->seen.gate.a, 0.0, 0.0);
  status->switches = s->seen.gate.switches != 0.0;
  status->latched = 0;
  for (size_t k = 0; k < CAUSES; ++k) {
    status->latched |= (uint64_t)(s->seen.latched[k] > 0.0) << k;
  }
}

static void fault(const rbd_session *s, size_t cause, rbd_word *word)
{
  const double *const row = s->m.x.command.supervisor.faults.details +
    FAULT_ROW * (cause < CAUSES ? cause : 0);
  *word = word_at(row + 1);
}

static int goals(rbd_session *s, double *progress)
{
  const double *const row = s->outcomes.row;  // see goal_watch.py
  for (;; ) {
    ROBOT(take_outcome)(&s->outcomes, &s->m.x.references.joint.goal);
    if (s->outcomes.found == 0.0) {
      break;
    }
    const rbd_outcome outcome = {
      row[0], (int)row[1], (int)row[2], {row[3], row[4], row[6], row[7], row[5]}};
    s->host.end_goal(s->host.self, &outcome);
  }
  ROBOT(note_progress)(&s->progress, &s->m.x, &s->m.p);
  memcpy(progress, &s->progress, sizeof(s->progress));
  return s->progress.number != 0.0;
}

static int note(rbd_session *s, int divider, double *row)
{
  s->noted.divider = divider;
  ROBOT(note_state)(&s->noted, &s->m.x, &s->m.p);
  if (s->noted.fresh == 0.0) {
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
  const int good = handle(&s->points[place], task, &given, &verdict);
  *wrong = word_of(verdict.word, verdict.joint, verdict.a, verdict.b, verdict.c);
  return good;
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

// -- clients of goals ----------------------------------------------------------------------------

static void mean(rbd_session *s, const uint8_t *goal, int32_t seconds, uint32_t nanoseconds)
{
  for (int k = 0; k < 4; ++k) {
    uint32_t part;
    memcpy(&part, goal + 4 * k, sizeof(part));
    s->leases.key[k] = part;
  }
  s->leases.stamp_s = seconds;
  s->leases.stamp_ns = nanoseconds;
}

static void sign(rbd_session *s, const uint8_t *goal, int32_t seconds, uint32_t nanoseconds)
{
  mean(s, goal, seconds, nanoseconds);
  ROBOT(take_sign)(&s->leases);
}

static void told(
  rbd_session *s, const uint8_t *goal, int32_t seconds, uint32_t nanoseconds, double steady)
{
  mean(s, goal, seconds, nanoseconds);
  s->leases.steady = steady;
  ROBOT(note_feedback)(&s->leases);
}

static int is_silent(rbd_session *s, const double *progress, double steady, double lease)
{
  ROBOT(Progress) given;
  memcpy(&given, progress, sizeof(given));
  s->leases.steady = steady;
  s->leases.most = lease;
  ROBOT(judge_lease)(&s->leases, &given);
  return s->leases.silent != 0.0;
}

static int count_publishers(rbd_session *s, size_t topic, size_t count)
{
  ROBOT(Publishers) *const publishers = &s->publishers[topic < RBD_TOPICS ? topic : 0];
  publishers->count = (double)count;
  ROBOT(count_publishers)(publishers);
  return publishers->news != 0.0 ? 2 : publishers->crowded != 0.0;
}

// -- parameters ----------------------------------------------------------------------------------

static int take(
  size_t live, const double *numbers, size_t count, double *values, rbd_word *wrong)
{
  ROBOT(Entries) x;
  const rbd_live *const row = &kLive[live];
  const size_t room = sizeof(x.numbers) / sizeof(double);
  memset(&x, 0, sizeof(x));
  x.lower = row->lower;
  x.upper = row->upper;
  x.count = (double)count;
  x.size = (double)row->size;
  x.spread = row->spread;
  x.optional = row->optional;
  copy(numbers, x.numbers, count < room ? count : room);
  ROBOT(take_entries)(&x);
  *wrong = word_of(x.word, (double)live, x.a, x.b, x.c);
  if (x.word != 0.0) {
    return 0;
  }
  copy(x.numbers, values + row->at, row->size);
  return 1;
}

static void give_values(ROBOT(Inputs) *given, const double *values)
{
  memcpy(given, kGiven, sizeof(*given));
  memcpy(&given->values, values, sizeof(given->values));
}

static void fill(
  const rbd_session *s, const double *values, int simulated, double *parameters, double *limits)
{
  ROBOT(Inputs) given;
  Parameters p = s->base;
  PointLimits found = s->limits;
  give_values(&given, values);
  given.simulated = simulated;
  ROBOT(fill_parameters)(&p, &given);
  ROBOT(fill_point_limits)(&found, &given);
  memcpy(parameters, &p, sizeof(p));
  memcpy(limits, &found, sizeof(found));
}

static int judge(const double *values, const double *begun, rbd_word *wrong)
{
  ROBOT(Inputs) given;
  ROBOT(Judgement) x;
  Parameters p;
  memset(&x, 0, sizeof(x));
  give_values(&given, values);
  if (begun) {
    memcpy(&p, begun, sizeof(p));
    copy(p.load.gravity, x.gravity.started, 3);
    copy(given.values.gravity, x.gravity.gravity, 3);
    ROBOT(judge_turn)(&x);
  }
  ROBOT(judge_values)(&x, &given);
  *wrong = word_of(x.rows[0], x.rows[1], x.rows[2], x.rows[3], x.rows[4]);
  return x.count == 0.0;
}

static void payload(const double *values, double *numbers)
{
  ROBOT(Inputs) given;
  rbd_body load = {0.0, {0.0}, {0.0}, {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}, {0.0}};
  rbd_word wrong;
  give_values(&given, values);
  load.mass = given.values.payload.mass;
  copy(given.values.payload.com, load.com, 3);
  copy(given.values.payload.inertia, load.inertia, 6);
  (void)body(&load, numbers, &wrong);
}

static const rbd_robot kRobot = {
  .version = RBD_SESSION_VERSION, .size = sizeof(rbd_robot), ROBOT_TABLES,
  .session_bytes = sizeof(rbd_session), .parameters = sizeof(Parameters) / sizeof(double),
  .limits = sizeof(PointLimits) / sizeof(double),
  .init = init, .prepare = prepare, .activate = activate, .deactivate = deactivate,
  .set_time = set_time, .stop = stop, .press = press, .set_parameters = set_parameters,
  .request = request, .drop = drop, .follow = follow, .leave = leave, .reading = reading,
  .state = state, .timer = timer, .look = look, .fault = fault,
  .goals = goals, .note = note, .sign = sign,
  .told = told, .is_silent = is_silent, .count_publishers = count_publishers, .points = points, .handle_points = handle_points,
  .takes_partial = takes_partial, .forget_directions = forget_directions, .direction = direction,
  .miss_direction = miss_direction, .body = body, .take = take, .fill = fill,
  .judge = judge, .payload = payload};

const rbd_robot *rbd_robot_library(void) {return &kRobot;}
