// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// What a controller of ros2_control and the library of a robot have in common.
//
// The library has one function, rbd_robot_library(), which returns a table: sizes, names, sentences
// and functions. All functions but those marked "slow" are for the thread of the updates: they
// allocate nothing, lock nothing and ask the system for nothing. What the codes of words, states,
// kinds and tasks mean is in codes.h. Lists of names have the order of the joints.

#ifndef RBD_CONTROLLER__SESSION_H_
#define RBD_CONTROLLER__SESSION_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Of all that this file and codes.h say. Whoever changes one of them gives it the next number.
#define RBD_SESSION_VERSION 4

enum {
  RBD_PLACES = 4,     // for trajectories
  RBD_NUMBERS = 14,   // that a request has
  RBD_PAYLOAD = 10,   // mass, first moment, inertia
  RBD_TOPICS = 8,     // with references
  RBD_SENSED = 6      // moment, force
};

/// What the step has said: a word with a joint (-1: none) and three numbers.
typedef struct {
  double code, joint, a, b, c;
} rbd_word;

/// What is answered to a request: one word, or two.
typedef struct {
  double granted, count;
  rbd_word words[2];
} rbd_answer;

/// Something that is asked of the step.
typedef struct {
  int kind;
  double stops;                  // number of the last stop when it was asked
  unsigned ticket;               // by which the answer is known; 0: nobody waits
  int place;                     // of a trajectory; -1: none
  int from_now;                  // whether that begins when it is taken
  double goal;                   // number of a goal; 0: none
  double numbers[RBD_NUMBERS];
} rbd_request;

/// How a goal has ended.
typedef struct {
  double goal;
  int status, code;
  rbd_word word;
} rbd_outcome;

/// What is seen of the controller after an update.
typedef struct {
  int state, mode;
  int sensed;                    // whether there is a fresh reading of the sensor, or none is needed
  int measured;                  // whether wrench holds one
  double wrench[RBD_SENSED];
  uint64_t latched;              // one bit for each cause
  uint64_t beats;                // number of the last heartbeat
  rbd_word gate;                 // why no goal is taken; its code is 0: one is
  int switches;                  // whether it is once the mode is goal_mode
} rbd_status;

/// Who runs the session: what it calls from the thread of the updates.
typedef struct {
  void * self;
  void (* send)(void * self, const double * torque);
  void (* say)(void * self, const rbd_word * word);
  void (* end_goal)(void * self, const rbd_outcome * outcome);
  void (* release)(void * self, int place);  // a trajectory is not needed any more
} rbd_host;

/// Points of a trajectory: count rows of joints each, from those that were found first.
typedef struct {
  double * count, * rates, * linear, * offset, * begin, * goal, * goal_time;
  double * times, * held, * q, * qd, * qdd, * path, * tolerance;
} rbd_points;

/// A direction of gravity: what an IMU says, and the axes of that in the base.
typedef struct {
  double now, stamp_s, stamp_ns, missing, turn[4], axes[9];
} rbd_direction;

/// A rigid body in a frame of its own, which lies in the payload frame.
typedef struct {
  double mass, com[3], inertia[6], axes[9], origin[3];
} rbd_body;

typedef struct {
  const char * name, * unit;
  int endless;
} rbd_joint;

typedef struct {
  const char * name;
  int takes_trajectories, takes_targets, takes_stiffness;
} rbd_mode;

enum {RBD_JOINT, RBD_MODEL_JOINT, RBD_BITS, RBD_STATE, RBD_MODE, RBD_LIVE};

/// The sentence of a word: {joint}, {unit}, {effort}, {faults}, numbers as {a}, {b:.3g}, {a|one|two}.
typedef struct {
  int word;
  int about;                     // what {joint} is
  const char * pattern;
} rbd_sentence;

/// A frame that is fixed to another: its axes as columns, row by row.
typedef struct {
  const char * name;
  double axes[9], quaternion[4], origin[3];
} rbd_frame;

/// Parameters of a row of a stiffness message: stiffness, damping.
typedef struct {
  int mode;
  const char * names[2];
  size_t count;
} rbd_spring_column;

enum {RBD_BOOL, RBD_INTEGER, RBD_DOUBLE, RBD_STRING, RBD_INTEGERS, RBD_DOUBLES, RBD_STRINGS};

/// A parameter with the value that the library was made for.
typedef struct {
  const char * name, * description;
  int type;
  size_t count;
  const double * numbers;
  const char * const * texts;
  const char * fixed;            // why it cannot change; null: it can
} rbd_parameter;

/// A parameter that may change while the controller runs; it is a part of a row of numbers.
typedef struct {
  const char * name, * unit;
  double lower, upper;
  int type;
  int optional;                  // it may be empty
  int spread;                    // one number may be given for all
  size_t size, at;               // its numbers, NaN where none are given; where they begin
  size_t choice_count;           // of a text, which is the place of one of these; -1: none of them
  const char * const * choices;
} rbd_live;

typedef struct rbd_session rbd_session;

/// A robot with its controller.
typedef struct {
  uint32_t version, size;        // RBD_SESSION_VERSION, and bytes of this table; always first
  const char * robot;
  size_t session_bytes;          // of a session, which begins with zeros
  size_t parameters, limits;     // numbers of the step, and of what points may ask for
  size_t value_count;            // numbers of all parameters that may change, and of others
  size_t most_points;
  int linear;                    // straight lines between positions
  size_t mode_at, goal_lease_at, state_divider_at;  // among the values
  int gravity_from_imu;
  const char * tip;

  size_t joint_count, model_joint_count, measured_count, sensed_count, mode_count, state_count;
  size_t cause_count, sentence_count, frame_count, payload_frame_count, spring_column_count;
  size_t parameter_count, live_count;
  const rbd_joint * joints, * model_joints;
  const char * const * measured; // joints whose states are read
  const char * const * sensed;   // interfaces of the force-torque sensor
  const rbd_mode * modes;
  const char * const * states;   // of the supervisor
  const char * const * causes;
  const rbd_sentence * sentences;
  const rbd_frame * frames, * payload_frames;
  const rbd_spring_column * spring_columns;
  const rbd_parameter * parameter_rows;
  const rbd_live * live;
  const double * values;         // that the library was made for

  // -- a life of it
  void (* init)(rbd_session * session, const rbd_host * host);
  /// Begin anew; fresh: also with what is carried. A payload that is not null counts at once.
  void (* prepare)(
    rbd_session * session, const double * parameters, int fresh, const double * payload);
  /// Begin to check states; carried: another controller holds the robot. Return 0, or the word
  /// that refuses it.
  double (* activate)(rbd_session * session, int carried);
  void (* deactivate)(rbd_session * session);
  /// Set the time of all that follows, s: of ROS, which counts if that is simulated, and steady.
  void (* set_time)(rbd_session * session, double ros, double steady);

  // -- an update
  /// Stop; its number is larger than that of every stop before.
  void (* stop)(rbd_session * session, double number, rbd_answer * answer);
  void (* press)(rbd_session * session, int pressed);
  void (* set_parameters)(rbd_session * session, const double * parameters);
  void (* request)(rbd_session * session, const rbd_request * request, rbd_answer * answer);
  void (* drop)(rbd_session * session, const rbd_request * request);  // nobody will carry it out
  /// Follow position, velocity, acceleration of each joint, NaN where nobody gives one.
  void (* follow)(rbd_session * session, const double * references);
  void (* leave)(rbd_session * session);  // do not follow until they are near again
  void (* reading)(rbd_session * session, const double * numbers);
  /// Take position, velocity, effort of each measured joint; renewed: the first of their kind.
  void (* state)(rbd_session * session, const double * numbers, int renewed);
  void (* timer)(rbd_session * session);
  void (* look)(rbd_session * session, rbd_status * status);
  void (* fault)(const rbd_session * session, size_t cause, rbd_word * word);
  /// Tell of goals that have ended; write the way of the active one: its number, s, whether it
  /// rests, then 3 desired, 2 actual and 2 errors of each joint. 0: there is none.
  int (* goals)(rbd_session * session, double * progress);
  /// Write a state for a report, each so many updates, 0: never, if it is due: s, whether the law tracks a reference, then sent,
  /// q, qd and 3 of the reference of each joint. 0: none is due.
  int (* note)(rbd_session * session, int divider, double * note);

  // -- slow: clients of goals, by their numbers of 16 bytes and the stamps of feedback
  void (* sign)(
    rbd_session * session, const uint8_t * goal, int32_t seconds, uint32_t nanoseconds);
  void (* told)(
    rbd_session * session, const uint8_t * goal, int32_t seconds, uint32_t nanoseconds,
    double steady);
  /// Return whether the client of the active goal, on this way, gives no sign of life.
  int (* is_silent)(
    rbd_session * session, const double * progress, double steady, double lease);

  /// Take the number of publishers of a reference. 0: its messages are good, 1: they are dropped,
  /// 2: so they are from now on, and the robot has to hold.
  int (* count_publishers)(rbd_session * session, size_t topic, size_t count);

  // -- slow: what messages hold
  void (* points)(rbd_session * session, int place, rbd_points * points);
  int (* handle_points)(
    rbd_session * session, int place, int task, const double * limits, rbd_word * wrong);
  int (* takes_partial)(const double * limits);  // whether points may leave joints out
  void (* forget_directions)(rbd_session * session, int same_clock);
  int (* direction)(
    rbd_session * session, const rbd_direction * given, double * down, rbd_word * wrong);
  /// Return why there is no direction, 0: there is one, 1: none came, 2: the word, 3: too old.
  int (* miss_direction)(const rbd_session * session, double now, rbd_word * word);
  int (* body)(const rbd_body * given, double * payload, rbd_word * wrong);

  // -- slow: parameters by their values
  /// Take numbers of a live parameter into the values of all.
  int (* take)(
    size_t live, const double * numbers, size_t count, double * values, rbd_word * wrong);
  void (* fill)(
    const rbd_session * session, const double * values, int simulated, double * parameters,
    double * limits);
  /// Judge values of all; while the robot is driven, also by the parameters of its activation.
  int (* judge)(const double * values, const double * begun, rbd_word * wrong);
  void (* payload)(const double * values, double * payload);
} rbd_robot;

/// The table of this library; it has the name by which it is found.
const rbd_robot * rbd_robot_library(void);

#ifdef __cplusplus
}
#endif

#endif  // RBD_CONTROLLER__SESSION_H_
