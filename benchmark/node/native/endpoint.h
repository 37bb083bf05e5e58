// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// One side of a conversation over rcl: it takes serialized joint states from one topic and
// publishes serialized joint states on another. A message that comes in wakes a thread by an
// eventfd; the callback of the middleware does nothing else.

#ifndef ENDPOINT_H_
#define ENDPOINT_H_

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rcl/error_handling.h>
#include <rcl/rcl.h>
#include <rosidl_runtime_c/message_type_support_struct.h>
#include <rosidl_typesupport_interface/macros.h>

#define CAPACITY 4096  // bytes of the largest message
#define STAMP 4  // where the stamp of a message with a header lies: behind the encapsulation

const rosidl_message_type_support_t *
ROSIDL_TYPESUPPORT_INTERFACE__MESSAGE_SYMBOL_NAME(
  rosidl_typesupport_c, sensor_msgs, msg, JointState)(void);

typedef struct
{
  rcl_context_t context;
  rcl_node_t node;
  rcl_subscription_t subscription;
  rcl_publisher_t publisher;
  int wake;  // an eventfd
} endpoint_t;

static inline void fail(const char * what)
{
  fprintf(stderr, "%s: %s\n", what, rcl_error_is_set() ? rcl_get_error_string().str : "refused");
  exit(1);
}

static inline void must(rcl_ret_t result, const char * what)
{
  if (result != RCL_RET_OK) {
    fail(what);
  }
}

// Called in a thread of the middleware.
static inline void wake_up(const void * wake, size_t count)
{
  uint64_t one = 1;
  (void)count;
  (void)!write(*(const int *)wake, &one, sizeof(one));
}

// Sleep until at least one message has come, or until somebody else calls `wake_up`.
static inline void wait_for_messages(const endpoint_t * side)
{
  uint64_t count;
  (void)!read(side->wake, &count, sizeof(count));
}

// Take the next message if there is one.
static inline int take(endpoint_t * side, rcl_serialized_message_t * message)
{
  rcl_ret_t result = rcl_take_serialized_message(&side->subscription, message, NULL, NULL);
  if (result == RCL_RET_OK) {
    return 1;
  }
  if (result != RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
    fail("take");
  }
  rcl_reset_error();
  return 0;
}

static inline void publish(endpoint_t * side, const rcl_serialized_message_t * message)
{
  must(rcl_publish_serialized_message(&side->publisher, message, NULL), "publish");
}

static inline rcl_serialized_message_t message_of(size_t length)
{
  rcl_serialized_message_t message = rmw_get_zero_initialized_serialized_message();
  rcl_allocator_t allocator = rcl_get_default_allocator();
  must(rmw_serialized_message_init(&message, CAPACITY, &allocator), "message");
  memset(message.buffer, 0, CAPACITY);
  message.buffer_length = length;
  return message;
}

// Read a whole file; returns its length.
static inline size_t file_into(const char * path, uint8_t * buffer, size_t capacity)
{
  FILE * file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  size_t length = fread(buffer, 1, capacity, file);
  fclose(file);
  return length;
}

// Connect. The address of `side` must stay: the middleware keeps that of its eventfd.
// States are best effort, commands reliable with a queue of one, like those of the controller; the
// driver's queue is longer, so that it sees every command.
static inline void connect_to(
  endpoint_t * side, const char * name, const char * takes, int takes_states,
  const char * publishes)
{
  const rosidl_message_type_support_t * type =
    ROSIDL_TYPESUPPORT_INTERFACE__MESSAGE_SYMBOL_NAME(
    rosidl_typesupport_c, sensor_msgs, msg, JointState)();
  rcl_init_options_t options = rcl_get_zero_initialized_init_options();
  must(rcl_init_options_init(&options, rcl_get_default_allocator()), "options");
  side->context = rcl_get_zero_initialized_context();
  must(rcl_init(0, NULL, &options, &side->context), "rcl_init");
  must(rcl_init_options_fini(&options), "options");
  rcl_node_options_t of_node = rcl_node_get_default_options();
  of_node.enable_rosout = false;
  side->node = rcl_get_zero_initialized_node();
  must(rcl_node_init(&side->node, name, "", &side->context, &of_node), "node");
  must(rcl_node_options_fini(&of_node), "node options");
  rcl_publisher_options_t out = rcl_publisher_get_default_options();
  rcl_subscription_options_t in = rcl_subscription_get_default_options();
  rmw_qos_profile_t states = rmw_qos_profile_default, commands = rmw_qos_profile_default;
  states.reliability = RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  commands.depth = takes_states ? 1 : 100;
  in.qos = takes_states ? states : commands;
  out.qos = takes_states ? commands : states;
  side->publisher = rcl_get_zero_initialized_publisher();
  must(rcl_publisher_init(&side->publisher, &side->node, type, publishes, &out), publishes);
  side->subscription = rcl_get_zero_initialized_subscription();
  must(rcl_subscription_init(&side->subscription, &side->node, type, takes, &in), takes);
  side->wake = eventfd(0, EFD_CLOEXEC);
  must(rcl_subscription_set_on_new_message_callback(
      &side->subscription, wake_up, &side->wake), "callback");
}

// In the order in which nothing is called after it is gone.
static inline void disconnect(endpoint_t * side)
{
  must(rcl_subscription_set_on_new_message_callback(&side->subscription, NULL, NULL), "callback");
  must(rcl_subscription_fini(&side->subscription, &side->node), "subscription");
  must(rcl_publisher_fini(&side->publisher, &side->node), "publisher");
  must(rcl_node_fini(&side->node), "node");
  must(rcl_shutdown(&side->context), "shutdown");
  must(rcl_context_fini(&side->context), "context");
  close(side->wake);
}

#endif  // ENDPOINT_H_
