// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#ifndef RBD_CONTROLLER__TOPICS_HPP_
#define RBD_CONTROLLER__TOPICS_HPP_

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "action_msgs/msg/goal_info.hpp"
#include "control_msgs/action/follow_joint_trajectory.hpp"
#include "geometry_msgs/msg/inertia_stamped.hpp"
#include "geometry_msgs/msg/pose_stamped.hpp"
#include "geometry_msgs/msg/twist_stamped.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_action/rclcpp_action.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"
#include "sensor_msgs/msg/imu.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

#include "rbd_controller/exchange.hpp"
#include "rbd_controller/robot.hpp"

namespace rbd_controller
{

/// in the place of a result code: a good message in a mode that does not use it
constexpr int kOtherMode = 1;

/// A message that cannot be followed, with the result code of a goal.
class Refused : public std::runtime_error
{
public:
  Refused(const std::string & text, int code)
  : std::runtime_error(text), code(code) {}

  const int code;
};

/// What messages need of the controller.
class Host
{
public:
  virtual ~Host() = default;

  /// Hand something to the next update; false: too much waits.
  virtual bool post(const rbd_request & request) = 0;

  /// Let a payload be carried, given by its ten numbers; return why not.
  virtual std::string carry_payload(const double * numbers) = 0;
  virtual std::string sentence(const rbd_word & word) const = 0;
  virtual double control_time() const = 0;  // s
  virtual bool is_simulated() const = 0;
  virtual int supervisor_state() const = 0;
  virtual rbd_word gate() const = 0;     // why no goal is taken; its code is 0: one is,
  virtual bool switches() const = 0;     // once the mode is switched
  virtual int mode() const = 0;
};

/// References and goals that come as messages: checked here, followed by update().
class Topics
{
public:
  /// What is handed to updates goes through the host and the exchange.
  Topics(Host & host, Exchange & exchange, const rbd_robot & robot, rbd_session * session)
  : host_(host), exchange_(exchange), robot_(robot), session_(session), limits_(robot.limits),
    joints_(names_of(robot.joints, robot.joint_count)) {}

  /// Listen.
  void open(const rclcpp_lifecycle::LifecycleNode::SharedPtr & node);

  /// Do not listen any more; goals that are left are aborted.
  void close();

  /// Answer what has ended, publish feedback, look for other publishers; to be called often.
  void look();

  /// Take other limits of points, and the lease of goals, of parameters that have changed.
  void set_limits(const Numbers & limits, double goal_lease);

private:
  using Follow = control_msgs::action::FollowJointTrajectory;
  using Handle = rclcpp_action::ServerGoalHandle<Follow>;
  using Trajectory = trajectory_msgs::msg::JointTrajectory;

  /// A topic that only one may publish.
  struct Guarded
  {
    std::string topic;
    rclcpp::SubscriptionBase::SharedPtr subscription;
  };

  /// What a message is: springs are parameters, which are set without a lock of this class.
  enum class As {kReference, kLoad, kSprings};

  /// Subscribe; messages that are refused count as such if they are references.
  template<typename Message>
  void listen(const std::string & name, void (Topics::* take)(const Message &), As as);
  bool is_crowded(std::size_t topic);

  void take_trajectory(const Trajectory & message);
  void take_positions(const std_msgs::msg::Float64MultiArray & message);
  void take_velocities(const std_msgs::msg::Float64MultiArray & message);
  void take_stream(const std_msgs::msg::Float64MultiArray & message, int of);
  void take_pose(const geometry_msgs::msg::PoseStamped & message);
  void take_twist(const geometry_msgs::msg::TwistStamped & message);
  void take_wrench(const geometry_msgs::msg::WrenchStamped & message);
  void take_payload(const geometry_msgs::msg::InertiaStamped & message);
  void take_stiffness(const std_msgs::msg::Float64MultiArray & message);
  void take_imu(const sensor_msgs::msg::Imu & message);
  /// Say why a start waits for the direction of gravity.
  void miss_direction();
  void take_target(int kind, const std::string & frame, std::array<double, 7> numbers);

  /// Put the points of a message into a place, checked.
  void read(const Trajectory & message, int place, const rbd_points & points);
  void read_tolerances(const Follow::Goal & goal, int place, const rbd_points & points);
  void hand_over(
    const Trajectory & message, const Follow::Goal * goal, double number,
    const std::function<void()> & before);
  void handle(int task, int place);
  std::size_t place_of(const std::string & joint) const;  // their count: it is none of them
  bool leaves_out(const std::vector<std::string> & names) const;
  std::string difference(const std::vector<std::string> & names) const;
  [[noreturn]] void refuse(const rbd_word & word) const;
  void require(int rbd_mode::* takes) const;
  void post(const rbd_request & request);

  void start(const std::shared_ptr<Handle> & handle);
  rclcpp_action::CancelResponse cancel(const std::shared_ptr<Handle> & handle);
  bool answer(double number, int status, int code, const std::string & text);
  void publish_feedback();
  void end_silent();

  rclcpp_lifecycle::LifecycleNode::SharedPtr node_;
  Host & host_;
  Exchange & exchange_;
  const rbd_robot & robot_;
  rbd_session * const session_;
  std::mutex reading_;  // among slower threads
  Numbers limits_;  // of what points may ask for
  std::atomic<double> goal_lease_{0.0};  // s
  const std::vector<std::string> joints_;
  rclcpp::Subscription<sensor_msgs::msg::Imu>::SharedPtr imu_;
  std::array<Guarded, RBD_TOPICS> guarded_;
  std::size_t topics_ = 0;  // of them that are used
  rclcpp_action::Server<Follow>::SharedPtr action_;
  rclcpp::Subscription<action_msgs::msg::GoalInfo>::SharedPtr signs_;
  std::mutex goals_lock_;
  std::map<double, std::shared_ptr<Handle>> goals_;  // by their numbers
  std::vector<rbd_outcome> unanswered_;
  double last_goal_ = 0.0, silent_ = 0.0;
  std::chrono::steady_clock::time_point counted_{}, fed_back_{};
};

}  // namespace rbd_controller

#endif  // RBD_CONTROLLER__TOPICS_HPP_
