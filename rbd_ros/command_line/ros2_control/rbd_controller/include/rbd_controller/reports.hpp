// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#ifndef RBD_CONTROLLER__REPORTS_HPP_
#define RBD_CONTROLLER__REPORTS_HPP_

#include "control_msgs/msg/joint_trajectory_controller_state.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"

#include "rbd_controller/exchange.hpp"

namespace rbd_controller
{

/// What is published of the states that update() has noted.
class Reports
{
public:
  Reports(const rbd_robot & robot, Exchange & exchange)
  : robot_(robot), exchange_(exchange) {}

  void open(const rclcpp_lifecycle::LifecycleNode::SharedPtr & node);
  void close();

  /// Publish what has come, and ask for more if somebody listens; to be called often.
  void look();

private:
  void publish(const Stamped & note);

  const rbd_robot & robot_;
  Exchange & exchange_;
  rclcpp::Publisher<control_msgs::msg::JointTrajectoryControllerState>::SharedPtr topic_;
};

}  // namespace rbd_controller

#endif  // RBD_CONTROLLER__REPORTS_HPP_
