// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// The floor under every controller on this middleware: rcl and nothing else.
//
//   echo TEMPLATE EFFORTS BYTES PRIORITY STALE
//
// It answers each serialized joint state by a command: TEMPLATE, a serialized message in a file,
// with the stamp of the state, and at offset EFFORTS as many BYTES as stand at the end of the
// state. PRIORITY is that of SCHED_FIFO for the thread of the loop; 0: none. STALE is for the test
// of the harness: every so many states, the command carries the stamp of the one before; 0: never.

#include <signal.h>

#include "endpoint.h"

static endpoint_t side;
static volatile int ending;
static size_t efforts, bytes;
static long priority, stale;
static const char * template_file;

static void * loop(void * unused)
{
  rcl_serialized_message_t state = message_of(0), command = message_of(0);
  uint8_t before[8] = {0};
  long taken = 0;
  command.buffer_length = file_into(template_file, command.buffer, CAPACITY);
  while (!ending) {
    wait_for_messages(&side);
    while (take(&side, &state)) {
      int wrong = stale && ++taken % stale == 0;
      memcpy(command.buffer + STAMP, wrong ? before : state.buffer + STAMP, 8);
      memcpy(before, state.buffer + STAMP, 8);
      memcpy(command.buffer + efforts, state.buffer + state.buffer_length - bytes, bytes);
      publish(&side, &command);
    }
  }
  must(rmw_serialized_message_fini(&state), "message");
  must(rmw_serialized_message_fini(&command), "message");
  return unused;
}

int main(int argc, char ** argv)
{
  sigset_t ends;
  int number;
  pthread_t thread;
  if (argc != 6) {
    fprintf(stderr, "usage: %s TEMPLATE EFFORTS BYTES PRIORITY STALE\n", argv[0]);
    return 2;
  }
  template_file = argv[1];
  efforts = strtoul(argv[2], NULL, 10);
  bytes = strtoul(argv[3], NULL, 10);
  priority = strtol(argv[4], NULL, 10);
  stale = strtol(argv[5], NULL, 10);
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, NULL);  // before any thread, so that all inherit it
  connect_to(&side, "controller", "/joint_states", 1, "/controller/commands");
  if (pthread_create(&thread, NULL, loop, NULL) != 0) {
    fail("thread");
  }
  pthread_setname_np(thread, "loop");
  if (priority > 0) {
    struct sched_param fifo = {.sched_priority = (int)priority};
    if (pthread_setschedparam(thread, SCHED_FIFO, &fifo) != 0) {
      fprintf(stderr, "echo: SCHED_FIFO %ld refused; usual scheduling\n", priority);
    }
  }
  sigwait(&ends, &number);
  ending = 1;
  wake_up(&side.wake, 1);
  pthread_join(thread, NULL);
  disconnect(&side);
  return 0;
}
