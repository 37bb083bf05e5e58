// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// The driver of a robot: it publishes joint states at a steady rate and notes when each of them
// was answered. A command says by its stamp which state it answers.
//
//   driver STATES LENGTH EFFORTS JOINTS
//
// STATES is a file of serialized joint states of LENGTH bytes each, published in turn, each with
// the time as its stamp, until the standard input ends. In a command the efforts of so many JOINTS
// begin at byte EFFORTS. Lines on the standard input:
//
//   wait SECONDS      wait until a command has come; prints "answered" or "silent"
//   count             print how many states were published
//   run RATE COUNT    publish at this rate from now on; after COUNT states print how many were
//                     published in all; wait for late commands and print "REPEATED UNKNOWN BYTES":
//                     commands to a state that had one, commands whose stamp is of no state, bytes
//                     of the last command; then for each of the COUNT states "SENT ANSWERED" in ns
//                     of the monotonic clock; ANSWERED is 0 if it was not; then the number of
//                     lines that follow, for some of the states that were answered: "WHICH EFFORT
//                     ...", where WHICH is its number in the file

#include <stdatomic.h>

#include "endpoint.h"

#define STATES (1 << 18)  // of one process, which publishes at 1 kHz unless told otherwise
#define NS 1000000000LL
#define LATE (NS / 5)  // how long a command is waited for
#define KEPT 20  // of so many states the efforts of one are kept
#define JOINTS 16

static endpoint_t side;
static int64_t stamps[STATES], sent[STATES];
static _Atomic int64_t answered[STATES];
static _Atomic long count, repeated, unknown, length;
static _Atomic int64_t period = NS / 1000;
static atomic_int ending;
static size_t state_length, efforts_at, joints;
static long forms;
static double efforts[STATES / KEPT + 1][JOINTS];

static int64_t now(clockid_t clock)
{
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * NS + time.tv_nsec;
}

static void sleep_until(int64_t due)
{
  struct timespec time = {.tv_sec = due / NS, .tv_nsec = due % NS};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0) {
  }
}

static int64_t stamp_of(const uint8_t * buffer)
{
  int32_t seconds;
  uint32_t rest;
  memcpy(&seconds, buffer + STAMP, 4);
  memcpy(&rest, buffer + STAMP + 4, 4);
  return seconds * NS + rest;
}

// Give an answer to its state; stamps grow, and most answers are to the last state.
static void pair(const rcl_serialized_message_t * command, int64_t when)
{
  int64_t stamp = stamp_of(command->buffer);
  long k = atomic_load(&count) - 1;
  int64_t none = 0;
  while (k >= 0 && stamps[k] > stamp) {
    --k;
  }
  if (k < 0 || stamps[k] != stamp) {
    atomic_fetch_add(&unknown, 1);
    return;
  }
  if (k % KEPT == 0 && efforts_at + joints * sizeof(double) <= command->buffer_length) {
    memcpy(efforts[k / KEPT], command->buffer + efforts_at, joints * sizeof(double));
  }
  if (!atomic_compare_exchange_strong(&answered[k], &none, when)) {
    atomic_fetch_add(&repeated, 1);
  }
}

static void * receive(void * unused)
{
  rcl_serialized_message_t command = message_of(0);
  while (!ending) {
    wait_for_messages(&side);
    while (take(&side, &command)) {
      int64_t when = now(CLOCK_MONOTONIC);
      atomic_store(&length, (long)command.buffer_length);
      pair(&command, when);
    }
  }
  must(rmw_serialized_message_fini(&command), "message");
  return unused;
}

static rcl_serialized_message_t * read_states(const char * path, size_t size)
{
  FILE * file = fopen(path, "rb");
  if (file == NULL || size == 0 || size > CAPACITY || fseek(file, 0, SEEK_END) != 0) {
    fprintf(stderr, "driver: %s cannot be read, or its messages are too large\n", path);
    exit(1);
  }
  forms = ftell(file) / (long)size;
  rewind(file);
  rcl_serialized_message_t * states = calloc((size_t)forms, sizeof(*states));
  for (long i = 0; i < forms; ++i) {
    states[i] = message_of(size);
    if (fread(states[i].buffer, 1, size, file) != size) {
      fail(path);
    }
  }
  fclose(file);
  return states;
}

static void publish_next(rcl_serialized_message_t * states)
{
  long k = atomic_load(&count);
  rcl_serialized_message_t * state = &states[k % forms];
  int64_t stamp = now(CLOCK_REALTIME);
  if (k == STATES) {
    fprintf(stderr, "driver: more than %d states\n", STATES);
    exit(1);
  }
  if (k && stamp <= stamps[k - 1]) {  // somebody set the clock back
    stamp = stamps[k - 1] + 1;
  }
  int32_t seconds = (int32_t)(stamp / NS);
  uint32_t rest = (uint32_t)(stamp % NS);
  memcpy(state->buffer + STAMP, &seconds, 4);
  memcpy(state->buffer + STAMP + 4, &rest, 4);
  stamps[k] = stamp;
  sent[k] = now(CLOCK_MONOTONIC);
  atomic_store(&count, k + 1);
  publish(&side, state);
}

// Publish at the rate, whatever else happens: a controller must not see states cease.
static void * drive(void * path)
{
  rcl_serialized_message_t * states = read_states(path, state_length);
  int64_t due = now(CLOCK_MONOTONIC);
  while (!ending) {
    int64_t step = atomic_load(&period);
    sleep_until(due);
    publish_next(states);
    do {  // what this process has slept through is left out, not sent in a burst
      due += step;
    } while (due + step < now(CLOCK_MONOTONIC));
  }
  return NULL;
}

static void print_efforts(long begin, long end)
{
  long lines = 0;
  for (long k = begin; k < end; k += KEPT) {
    lines += atomic_load(&answered[k]) != 0;
  }
  printf("%ld\n", lines);
  for (long k = begin; k < end && lines > 0; k += KEPT) {
    if (atomic_load(&answered[k]) != 0) {
      --lines;
      printf("%ld", k % forms);
      for (size_t i = 0; i < joints; ++i) {
        printf(" %.17g", efforts[k / KEPT][i]);
      }
      printf("\n");
    }
  }
}

static void measure(double rate, long wanted)
{
  atomic_store(&period, (int64_t)(NS / rate));
  long first = atomic_load(&count);
  long repeated_before = atomic_load(&repeated), unknown_before = atomic_load(&unknown);
  sleep_until(now(CLOCK_MONOTONIC) + (int64_t)(wanted / rate * NS));
  while (atomic_load(&count) < first + wanted) {
    sleep_until(now(CLOCK_MONOTONIC) + NS / 1000);
  }
  printf("%ld\n", atomic_load(&count));
  fflush(stdout);
  sleep_until(now(CLOCK_MONOTONIC) + LATE);
  printf("%ld %ld %ld\n", atomic_load(&repeated) - repeated_before,
    atomic_load(&unknown) - unknown_before, atomic_load(&length));
  for (long k = first; k < first + wanted; ++k) {
    printf("%lld %lld\n", (long long)sent[k], (long long)atomic_load(&answered[k]));
  }
  print_efforts((first + KEPT - 1) / KEPT * KEPT, first + wanted);
}

static void wait_for_node(double seconds)
{
  int64_t limit = now(CLOCK_MONOTONIC) + (int64_t)(seconds * NS);
  while (!atomic_load(&length) && now(CLOCK_MONOTONIC) < limit) {
    sleep_until(now(CLOCK_MONOTONIC) + NS / 50);
  }
  puts(atomic_load(&length) ? "answered" : "silent");
}

int main(int argc, char ** argv)
{
  char line[256];
  double number;
  long wanted;
  pthread_t receiving, driving;
  if (argc != 5 || (joints = strtoul(argv[4], NULL, 10)) > JOINTS) {
    fprintf(stderr, "usage: %s STATES LENGTH EFFORTS JOINTS\n", argv[0]);
    return 2;
  }
  state_length = strtoul(argv[2], NULL, 10);
  efforts_at = strtoul(argv[3], NULL, 10);
  memset(stamps, 0xff, sizeof(stamps));  // no page is to be fetched while measuring
  memset(sent, 0xff, sizeof(sent));
  for (long k = 0; k < STATES; ++k) {
    atomic_store(&answered[k], 0);
  }
  connect_to(&side, "driver", "/controller/commands", 0, "/joint_states");
  if (pthread_create(&receiving, NULL, receive, NULL) != 0 ||
    pthread_create(&driving, NULL, drive, argv[1]) != 0)
  {
    fail("thread");
  }
  while (fgets(line, sizeof(line), stdin) != NULL) {
    if (sscanf(line, "wait %lf", &number) == 1) {
      wait_for_node(number);
    } else if (sscanf(line, "run %lf %ld", &number, &wanted) == 2 && number > 0.0) {
      measure(number, wanted);
    } else if (strcmp(line, "count\n") == 0) {
      printf("%ld\n", atomic_load(&count));
    } else {
      fprintf(stderr, "driver: not understood: %s", line);
      return 2;
    }
    fflush(stdout);
  }
  ending = 1;
  pthread_join(driving, NULL);
  wake_up(&side.wake, 1);
  pthread_join(receiving, NULL);
  disconnect(&side);
  return 0;
}
