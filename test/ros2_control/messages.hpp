// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// Commands of the script that send messages to a controller.

#ifndef MESSAGES_HPP_
#define MESSAGES_HPP_

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "control_msgs/action/follow_joint_trajectory.hpp"
#include "control_msgs/msg/joint_trajectory_controller_state.hpp"
#include "geometry_msgs/msg/inertia_stamped.hpp"
#include "geometry_msgs/msg/pose_stamped.hpp"
#include "geometry_msgs/msg/twist_stamped.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_action/rclcpp_action.hpp"
#include "sensor_msgs/msg/imu.hpp"
#include "std_msgs/msg/bool.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"
#include "std_msgs/msg/string.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

/// A message that is published again and again, as sensors and switches do.
template<typename Message>
class Stream
{
public:
  Stream(const rclcpp::Node::SharedPtr & node, const std::string & topic)
  : node_(node), topic_(node->create_publisher<Message>(topic, 10)), thread_([this]() {run();})
  {
  }

  ~Stream()
  {
    ended_ = true;
    thread_.join();
  }

  /// Let this be published from now on; return whether somebody listens.
  bool send(const Message & message)
  {
    {
      const std::lock_guard<std::mutex> lock(changing_);
      message_ = message;
      given_ = true;
      sent_ = 0;
    }
    for (int k = 0; k < 2000 && sent_ < kEnough; ++k) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return sent_ >= kEnough;
  }

private:
  static constexpr int kEnough = 20;

  void run()
  {
    for (; !ended_; std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
      const std::lock_guard<std::mutex> lock(changing_);
      if (given_) {
        stamp(message_);
        topic_->publish(message_);
        sent_ += topic_->get_subscription_count() > 0 ? 1 : 0;
      }
    }
  }

  void stamp(std_msgs::msg::Bool &) {}
  void stamp(sensor_msgs::msg::Imu & message) {message.header.stamp = node_->now();}

  rclcpp::Node::SharedPtr node_;
  typename rclcpp::Publisher<Message>::SharedPtr topic_;
  std::mutex changing_;
  Message message_;
  bool given_ = false;
  std::atomic<int> sent_{0};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

class Messages
{
public:
  using Words = std::vector<std::string>;

  Messages(std::shared_ptr<rclcpp::Node> node, rclcpp::Executor & executor)
  : node_(node), executor_(executor)
  {
  }

  std::map<std::string, std::function<std::string(const Words &)>> commands()
  {
    using std::placeholders::_1;
    return {
      {"goal", std::bind(&Messages::goal, this, _1)},
      {"result", std::bind(&Messages::result, this, _1)},
      {"cancel", std::bind(&Messages::cancel, this, _1)},
      {"path", std::bind(&Messages::path, this, _1)},
      {"pose", std::bind(&Messages::pose, this, _1)},
      {"twist", std::bind(&Messages::twist, this, _1)},
      {"wrench", std::bind(&Messages::wrench, this, _1)},
      {"numbers", std::bind(&Messages::numbers, this, _1)},
      {"rival", std::bind(&Messages::rival, this, _1)},
      {"press", std::bind(&Messages::press, this, _1)},
      {"imu", std::bind(&Messages::imu, this, _1)},
      {"payload", std::bind(&Messages::payload, this, _1)},
      {"sensed", std::bind(&Messages::sensed, this, _1)},
      {"reported", std::bind(&Messages::reported, this, _1)}};
  }

  /// What a node is asked behind a message is answered behind it, too.
  bool is_served(const std::string & topic)
  {
    rclcpp::AsyncParametersClient behind(node_, topic.substr(0, topic.rfind('/')));
    return behind.wait_for_service(kPatience) && executor_.spin_until_future_complete(
      behind.get_parameters({"joints"}), kPatience) == rclcpp::FutureReturnCode::SUCCESS;
  }

private:
  using Follow = control_msgs::action::FollowJointTrajectory;
  using Handle = rclcpp_action::ClientGoalHandle<Follow>;
  static constexpr auto kPatience = std::chrono::seconds(20);

  /// A file: names of joints; then lines of a time and positions, and velocities if it has them.
  static trajectory_msgs::msg::JointTrajectory read(const std::string & file)
  {
    trajectory_msgs::msg::JointTrajectory message;
    std::ifstream stream(file);
    std::string line, word;
    std::getline(stream, line);
    for (std::istringstream words(line); words >> word; ) {
      message.joint_names.push_back(word);
    }
    while (std::getline(stream, line)) {
      std::istringstream words(line);
      trajectory_msgs::msg::JointTrajectoryPoint point;
      double number = 0.0;
      words >> number;
      point.time_from_start = rclcpp::Duration::from_seconds(number);
      for (std::size_t k = 0; words >> number; ++k) {
        (k < message.joint_names.size() ? point.positions : point.velocities).push_back(number);
      }
      message.points.push_back(point);
    }
    return message;
  }

  /// Action, file, a tolerance of positions at the end if it is not the usual one (0), and how many
  /// seconds from now it begins.
  std::string goal(const Words & words)
  {
    if (!action_) {
      action_ = rclcpp_action::create_client<Follow>(node_, words.at(0));
    }
    if (!action_->wait_for_action_server(std::chrono::seconds(5))) {
      return "no action " + words.at(0);
    }
    Follow::Goal goal;
    goal.trajectory = read(words.at(1));
    for (const auto & joint : goal.trajectory.joint_names) {
      if (words.size() > 2) {
        goal.goal_tolerance.emplace_back();
        goal.goal_tolerance.back().name = joint;
        goal.goal_tolerance.back().position = std::stod(words[2]);
      }
    }
    if (words.size() > 3) {
      goal.trajectory.header.stamp =
        node_->now() + rclcpp::Duration::from_seconds(std::stod(words[3]));
    }
    feedback_ = 0;
    auto options = rclcpp_action::Client<Follow>::SendGoalOptions();
    options.feedback_callback = [this](Handle::SharedPtr, Follow::Feedback::ConstSharedPtr) {
        ++feedback_;
      };
    auto answer = action_->async_send_goal(goal, options);
    if (executor_.spin_until_future_complete(answer, kPatience) !=
      rclcpp::FutureReturnCode::SUCCESS)
    {
      return "no answer";
    }
    handle_ = answer.get();
    if (!handle_) {
      return "rejected";
    }
    pending_ = action_->async_get_result(handle_);
    return "accepted";
  }

  std::string result(const Words &)
  {
    if (executor_.spin_until_future_complete(pending_, kPatience) !=
      rclcpp::FutureReturnCode::SUCCESS)
    {
      return "no result";
    }
    const auto found = pending_.get();
    const std::string code =
      found.code == rclcpp_action::ResultCode::SUCCEEDED ? "succeeded" :
      found.code == rclcpp_action::ResultCode::ABORTED ? "aborted" : "canceled";
    return code + " " + std::to_string(found.result->error_code) + " " +
           (feedback_ > 0 ? "with feedback " : "") + found.result->error_string;
  }

  std::string cancel(const Words &)
  {
    auto answer = action_->async_cancel_goal(handle_);
    return executor_.spin_until_future_complete(answer, kPatience) ==
           rclcpp::FutureReturnCode::SUCCESS ? "ok" : "no answer";
  }

  template<typename Message>
  std::string publish(const std::string & name, const Message & message)
  {
    auto & kept = publishers_[name];
    if (!kept) {
      kept = node_->create_publisher<Message>(name, rclcpp::QoS(1).reliable());
    }
    const auto topic = std::static_pointer_cast<rclcpp::Publisher<Message>>(kept);
    for (int k = 0; k < 500 && topic->get_subscription_count() == 0; ++k) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    topic->publish(message);
    return topic->wait_for_all_acked(kPatience) && is_served(name) ? "ok" : "not taken";
  }

  /// Topic, file.
  std::string path(const Words & words) {return publish(words.at(0), read(words.at(1)));}

  static double number(const Words & words, std::size_t k) {return std::stod(words.at(k));}

  /// Topic, frame or -, position, quaternion.
  std::string pose(const Words & words)
  {
    geometry_msgs::msg::PoseStamped message;
    message.header.frame_id = words.at(1) == "-" ? "" : words.at(1);
    auto & p = message.pose.position;
    auto & q = message.pose.orientation;
    double * const fields[] = {&p.x, &p.y, &p.z, &q.x, &q.y, &q.z, &q.w};
    for (std::size_t k = 0; k < 7; ++k) {
      *fields[k] = number(words, k + 2);
    }
    return publish(words.at(0), message);
  }

  /// Topic, numbers.
  std::string numbers(const Words & words)
  {
    std_msgs::msg::Float64MultiArray message;
    for (std::size_t k = 1; k < words.size(); ++k) {
      message.data.push_back(number(words, k));
    }
    return publish(words.at(0), message);
  }

  /// Topic, linear and angular velocity, and a frame if it is not the base.
  std::string twist(const Words & words)
  {
    geometry_msgs::msg::TwistStamped message;
    message.header.frame_id = words.size() > 7 ? words[7] : "";
    auto & v = message.twist.linear;
    auto & w = message.twist.angular;
    double * const fields[] = {&v.x, &v.y, &v.z, &w.x, &w.y, &w.z};
    for (std::size_t k = 0; k < 6; ++k) {
      *fields[k] = number(words, k + 1);
    }
    return publish(words.at(0), message);
  }

  /// Topic, force and moment.
  std::string wrench(const Words & words)
  {
    geometry_msgs::msg::WrenchStamped message;
    auto & f = message.wrench.force;
    auto & n = message.wrench.torque;
    double * const fields[] = {&f.x, &f.y, &f.z, &n.x, &n.y, &n.z};
    for (std::size_t k = 0; k < 6; ++k) {
      *fields[k] = number(words, k + 1);
    }
    return publish(words.at(0), message);
  }

  /// Topic, frame or -, mass, centre of mass, and moments of inertia if there are any.
  std::string payload(const Words & words)
  {
    geometry_msgs::msg::InertiaStamped message;
    message.header.frame_id = words.at(1) == "-" ? "" : words.at(1);
    auto & i = message.inertia;
    double * const fields[] = {
      &i.m, &i.com.x, &i.com.y, &i.com.z, &i.ixx, &i.ixy, &i.ixz, &i.iyy, &i.iyz, &i.izz};
    for (std::size_t k = 0; k + 2 < words.size(); ++k) {
      *fields[k] = number(words, k + 2);
    }
    return publish(words.at(0), message);
  }

  /// Topic: the wrench of the next message, force and moment, and its frame.
  std::string sensed(const Words & words)
  {
    using Wrench = geometry_msgs::msg::WrenchStamped;
    std::promise<Wrench> next;
    auto heard = next.get_future();
    bool first = true;
    const auto topic = node_->create_subscription<Wrench>(
      words.at(0), rclcpp::QoS(10), [&next, &first](const Wrench & message) {
        if (std::exchange(first, false)) {
          next.set_value(message);
        }
      });
    if (executor_.spin_until_future_complete(heard, kPatience) !=
      rclcpp::FutureReturnCode::SUCCESS)
    {
      return "nothing heard";
    }
    const auto message = heard.get();
    const auto & f = message.wrench.force;
    const auto & n = message.wrench.torque;
    std::ostringstream text;
    text << message.header.frame_id;
    for (const double each : {f.x, f.y, f.z, n.x, n.y, n.z}) {
      text << " " << each;
    }
    return text.str();
  }

  /// Topic, file, how many: states of the controller, a line of JSON each.
  std::string reported(const Words & words)
  {
    using State = control_msgs::msg::JointTrajectoryControllerState;
    std::ofstream file(words.at(1));
    file.precision(17);
    const auto list = [&file](const char * name, const std::vector<double> & numbers) {
        file << ", \"" << name << "\": [";
        for (std::size_t k = 0; k < numbers.size(); ++k) {
          file << (k > 0 ? ", " : "") << numbers[k];
        }
        file << "]";
      };
    const int wanted = std::stoi(words.at(2));
    int count = 0;
    std::promise<void> enough;
    const auto topic = node_->create_subscription<State>(
      words.at(0), rclcpp::QoS(100), [&](const State & message) {
        if (count == wanted) {
          return;
        }
        file << "{\"stamp\": " << rclcpp::Time(message.header.stamp).nanoseconds() <<
          ", \"taken\": " << rclcpp::Duration(message.feedback.time_from_start).nanoseconds() <<
          ", \"first\": \"" << message.joint_names.at(0) << "\"";
        list("q", message.feedback.positions);
        list("qd", message.feedback.velocities);
        list("torque", message.output.effort);
        list("reference", message.reference.positions);
        list("speed", message.reference.velocities);
        list("acceleration", message.reference.accelerations);
        list("error", message.error.positions);
        list("speed_error", message.error.velocities);
        file << "}\n";
        if (++count == wanted) {
          enough.set_value();
        }
      });
    return executor_.spin_until_future_complete(enough.get_future(), kPatience) ==
           rclcpp::FutureReturnCode::SUCCESS ? "ok" : "only " + std::to_string(count);
  }

  /// Topic: somebody else publishes poses there, too. Without a topic: nobody does any more.
  std::string rival(const Words & words)
  {
    rival_.reset();
    if (words.empty()) {
      return "ok";
    }
    rival_ = node_->create_publisher<geometry_msgs::msg::PoseStamped>(words.at(0), 1);
    return is_served(words.at(0)) ? "ok" : "not taken";
  }

  /// Publish a message from now on.
  template<typename Message>
  std::string keep_sending(
    std::unique_ptr<Stream<Message>> & stream, const std::string & topic, const Message & message)
  {
    if (!stream) {
      stream = std::make_unique<Stream<Message>>(node_, topic);
    }
    return stream->send(message) && is_served(topic) ? "ok" : "nobody listens";
  }

  /// Topic, whether the switch is held: from now on. Topic: nobody says anything any more.
  std::string press(const Words & words)
  {
    if (words.size() < 2) {
      switch_.reset();
      return "ok";
    }
    std_msgs::msg::Bool message;
    message.data = words.at(1) == "true";
    return keep_sending(switch_, words.at(0), message);
  }

  /// Topic, frame or -, quaternion: from now on. Topic: the IMU is silent.
  std::string imu(const Words & words)
  {
    if (words.size() < 2) {
      imu_.reset();
      return "ok";
    }
    sensor_msgs::msg::Imu message;
    message.header.frame_id = words.at(1) == "-" ? "" : words.at(1);
    auto & q = message.orientation;
    double * const fields[] = {&q.x, &q.y, &q.z, &q.w};
    for (std::size_t k = 0; k < 4; ++k) {
      *fields[k] = number(words, k + 2);
    }
    return keep_sending(imu_, words.at(0), message);
  }

  std::shared_ptr<rclcpp::Node> node_;
  rclcpp::Executor & executor_;
  rclcpp::PublisherBase::SharedPtr rival_;
  std::unique_ptr<Stream<sensor_msgs::msg::Imu>> imu_;
  std::unique_ptr<Stream<std_msgs::msg::Bool>> switch_;
  rclcpp_action::Client<Follow>::SharedPtr action_;
  Handle::SharedPtr handle_;
  std::shared_future<Handle::WrappedResult> pending_;
  int feedback_ = 0;
  std::map<std::string, rclcpp::PublisherBase::SharedPtr> publishers_;
};

#endif  // MESSAGES_HPP_
