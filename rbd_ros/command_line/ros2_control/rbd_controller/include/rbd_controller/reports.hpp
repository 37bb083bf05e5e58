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
