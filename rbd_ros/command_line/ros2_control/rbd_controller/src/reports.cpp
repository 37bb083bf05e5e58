// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#include "rbd_controller/reports.hpp"

#include <cmath>
#include <utility>

#include "rbd_controller/robot.hpp"

namespace rbd_controller
{

using State = control_msgs::msg::JointTrajectoryControllerState;

namespace
{

constexpr double kTurn = 6.283185307179586;

}  // namespace

void Reports::open(const rclcpp_lifecycle::LifecycleNode::SharedPtr & node)
{
  topic_ = node->create_publisher<State>("~/controller_state", 10);
}

void Reports::close()
{
  exchange_.watched = false;
  topic_.reset();
}

void Reports::look()
{
  exchange_.watched = topic_->get_subscription_count() > 0;
  Stamped note;
  while (exchange_.notes.pop(note)) {
    publish(note);
  }
}

void Reports::publish(const Stamped & note)
{
  const std::size_t n = robot_.joint_count;
  const bool tracks = note.numbers[1] != 0.0;
  const double * const sent = note.numbers.data() + 2, * const q = sent + n, * const qd = q + n;
  const double * const reference = qd + n;
  State message;
  message.header.stamp = rclcpp::Time(note.stamp);
  message.joint_names = names_of(robot_.joints, n);
  message.output.effort.assign(sent, sent + n);
  message.feedback.time_from_start = rclcpp::Duration::from_seconds(note.numbers[0]);
  message.feedback.positions.assign(q, q + n);
  message.feedback.velocities.assign(qd, qd + n);
  for (std::size_t j = 0; tracks && j < n; ++j) {  // else there is no reference of the joints
    const double error = reference[j] - q[j];
    message.error.positions.push_back(
      robot_.joints[j].endless ? std::remainder(error, kTurn) : error);
    message.error.velocities.push_back(reference[n + j] - qd[j]);
  }
  if (tracks) {
    message.reference.positions.assign(reference, reference + n);
    message.reference.velocities.assign(reference + n, reference + 2 * n);
    message.reference.accelerations.assign(reference + 2 * n, reference + 3 * n);
  }
  topic_->publish(std::move(message));
}

}  // namespace rbd_controller
