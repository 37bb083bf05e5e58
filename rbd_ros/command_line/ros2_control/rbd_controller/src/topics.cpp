// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#include "rbd_controller/topics.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "rcl_action/rcl_action.h"

#include "rbd_controller/codes.h"
#include "rbd_controller/words.hpp"

namespace rbd_controller
{

namespace
{

/// between two counts of publishers, and between two messages of feedback
constexpr auto kCounting = std::chrono::milliseconds(250), kFeedback = std::chrono::milliseconds(100);

/// goals that are not answered yet
constexpr std::size_t kMostGoals = 200;

constexpr int kWarnings = 1000;  // ms between two of them

double seconds(const builtin_interfaces::msg::Duration & time)
{
  return time.sec + 1e-9 * time.nanosec;
}

double steady_time()
{
  return std::chrono::duration<double>(
    std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A place that is given back unless somebody keeps it.
class Reserved
{
public:
  explicit Reserved(Places<RBD_PLACES> & places)
  : places_(places), place_(places.reserve()) {}
  ~Reserved() {places_.release(place_);}

  int place() const {return place_;}
  void keep() {place_ = -1;}

private:
  Places<RBD_PLACES> & places_;
  int place_;
};

/// Return a frame of a table; none: the name is empty.
const rbd_frame * frame_of(
  const std::string & name, const rbd_frame * known, std::size_t count,
  const std::string & fixed_to)
{
  std::string names;
  for (std::size_t k = 0; k < count; ++k) {
    const auto & each = known[k];
    if (name == each.name || name == std::string("/") + each.name) {
      return &each;
    }
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  if (!name.empty()) {
    throw Refused(
            "frame \"" + name + "\" is not fixed to " + fixed_to + " (known: " + names + ")",
            control_msgs::action::FollowJointTrajectory::Result::INVALID_GOAL);
  }
  return nullptr;
}

/// Axes of a frame in the one that it is fixed to; none: those of that.
void write_axes(const rbd_frame * frame, double * axes)
{
  for (std::size_t k = 0; k < 9; ++k) {
    axes[k] = frame != nullptr ? frame->axes[k] : k % 4 == 0 ? 1.0 : 0.0;
  }
}

rbd_request request_of(int kind) {return rbd_request{kind, 0.0, 0, -1, 0, 0.0, {}};}

}  // namespace

// -- topics --------------------------------------------------------------------------------------

template<typename Message>
void Topics::listen(const std::string & name, void (Topics::* take)(const Message &), As as)
{
  const std::size_t topic = topics_++;
  guarded_[topic].topic = node_->get_node_topics_interface()->resolve_topic_name(name);
  guarded_[topic].subscription = node_->create_subscription<Message>(
    name, rclcpp::QoS(1), [this, take, as, topic](const Message & message) {
      std::unique_lock<std::mutex> lock(reading_);
      if (is_crowded(topic)) {
        return;
      }
      if (as == As::kSprings) {
        lock.unlock();
      }
      try {
        (this->*take)(message);
      } catch (const Refused & error) {
        RCLCPP_WARN_THROTTLE(
          node_->get_logger(), *node_->get_clock(), kWarnings, "%s: rejected, %s",
          guarded_[topic].topic.c_str(), error.what());
        if (as == As::kReference && error.code != kOtherMode) {
          (void)host_.post(request_of(RBD_KIND_REFUSED));
        }
      }
    });
}

void Topics::open(const rclcpp_lifecycle::LifecycleNode::SharedPtr & node)
{
  const std::lock_guard<std::mutex> lock(reading_);
  node_ = node;
  topics_ = 0;
  listen("~/joint_trajectory", &Topics::take_trajectory, As::kReference);
  listen("~/target_positions", &Topics::take_positions, As::kReference);
  listen("~/target_velocities", &Topics::take_velocities, As::kReference);
  listen("~/target_pose", &Topics::take_pose, As::kReference);
  listen("~/target_twist", &Topics::take_twist, As::kReference);
  listen("~/target_wrench", &Topics::take_wrench, As::kReference);
  listen("~/target_stiffness", &Topics::take_stiffness, As::kSprings);
  listen("~/payload", &Topics::take_payload, As::kLoad);
  if (robot_.gravity_from_imu) {
    robot_.forget_directions(session_, host_.is_simulated());
    imu_ = node_->create_subscription<sensor_msgs::msg::Imu>(
      "~/imu", rclcpp::SensorDataQoS(), [this](const sensor_msgs::msg::Imu & message) {
        const std::lock_guard<std::mutex> reading(reading_);
        try {
          take_imu(message);
        } catch (const Refused & error) {
          RCLCPP_WARN_THROTTLE(
            node_->get_logger(), *node_->get_clock(), kWarnings,
            "gravity from the topic %s rejected: %s", imu_->get_topic_name(), error.what());
        }
      });
  }
  signs_ = node_->create_subscription<action_msgs::msg::GoalInfo>(
    "~/follow_joint_trajectory/alive", 10, [this](const action_msgs::msg::GoalInfo & message) {
      const std::lock_guard<std::mutex> goals(goals_lock_);
      robot_.sign(
        session_, message.goal_id.uuid.data(), message.stamp.sec, message.stamp.nanosec);
    });
  auto options = rcl_action_server_get_default_options();
  options.result_timeout.nanoseconds = RCL_S_TO_NS(10);
  action_ = rclcpp_action::create_server<Follow>(
    node_, "~/follow_joint_trajectory",
    [this](const rclcpp_action::GoalUUID &, std::shared_ptr<const Follow::Goal>) {
      const std::lock_guard<std::mutex> goals(goals_lock_);
      // A goal that cannot be followed is aborted with a text, which a rejected one has not.
      return goals_.size() < kMostGoals ? rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE :
             rclcpp_action::GoalResponse::REJECT;
    },
    [this](const std::shared_ptr<Handle> & handle) {return cancel(handle);},
    [this](const std::shared_ptr<Handle> & handle) {start(handle);}, options);
}

void Topics::close()
{
  const std::lock_guard<std::mutex> lock(reading_), goals(goals_lock_);
  while (!goals_.empty()) {
    (void)answer(
      goals_.begin()->first, RBD_GOAL_STATUS_ABORTED, Follow::Result::INVALID_GOAL,
      "the robot was cleaned up");
  }
  unanswered_.clear();
  action_.reset();
  signs_.reset();
  imu_.reset();
  for (auto & each : guarded_) {
    each.subscription.reset();  // its name stays: a callback may be under way
  }
}

void Topics::set_limits(const Numbers & limits, double goal_lease)
{
  goal_lease_ = goal_lease;
  const std::lock_guard<std::mutex> lock(reading_);
  limits_ = limits;
}

bool Topics::is_crowded(std::size_t topic)
{
  const auto & name = guarded_[topic].topic;
  const auto count = node_->count_publishers(name);
  const int follows = robot_.count_publishers(session_, topic, count);
  if (follows == 0) {
    return false;
  }
  RCLCPP_WARN_THROTTLE(
    node_->get_logger(), *node_->get_clock(), kWarnings,
    "%s has %zu publishers: their messages are dropped and the robot holds", name.c_str(), count);
  if (follows == 2) {
    (void)host_.post(request_of(RBD_KIND_HOLD));
  }
  return true;
}

/// Whether the names of a message are controlled joints, each once, but not all of them.
bool Topics::leaves_out(const std::vector<std::string> & names) const
{
  std::size_t found = 0;
  for (const auto & joint : joints_) {
    const auto count = std::count(names.begin(), names.end(), joint);
    if (count > 1) {
      return false;
    }
    found += static_cast<std::size_t>(count);
  }
  return !names.empty() && found == names.size() && found < joints_.size();
}

/// Say in what the names of a message differ from the controlled joints.
std::string Topics::difference(const std::vector<std::string> & names) const
{
  std::array<std::string, 3> kinds;
  const auto add = [&kinds](std::size_t kind, const std::string & name) {
      kinds[kind] += (kinds[kind].empty() ? "" : ", ") + name;
    };
  for (const auto & name : names) {
    if (std::find(joints_.begin(), joints_.end(), name) == joints_.end()) {
      add(0, name);
    }
  }
  for (const auto & joint : joints_) {
    const auto count = std::count(names.begin(), names.end(), joint);
    if (count != 1) {
      add(count == 0 ? 1 : 2, joint);
    }
  }
  std::string text;
  const char * const titles[] = {"unknown: ", "missing: ", "given twice: "};
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (!kinds[k].empty()) {
      text += (text.empty() ? "" : "; ") + (titles[k] + kinds[k]);
    }
  }
  return "joints " + listed(names) + " are not the controlled ones " + listed(joints_) + " (" +
         text + ")" + (leaves_out(names) ?
         "; allow_partial_joints_goal lets a message leave joints out" : "");
}

std::size_t Topics::place_of(const std::string & joint) const
{
  return static_cast<std::size_t>(
    std::find(joints_.begin(), joints_.end(), joint) - joints_.begin());
}

void Topics::refuse(const rbd_word & word) const
{
  throw Refused(
          host_.sentence(word), word.code == RBD_POINT_WORD_ENDED ?
          Follow::Result::OLD_HEADER_TIMESTAMP : Follow::Result::INVALID_GOAL);
}

void Topics::require(int rbd_mode::* takes) const
{
  const auto & mode = robot_.modes[host_.mode()];
  if (mode.*takes) {
    return;
  }
  std::string wanted;
  for (std::size_t k = 0; k < robot_.mode_count; ++k) {
    if (robot_.modes[k].*takes) {
      wanted += (wanted.empty() ? "" : " or ") + std::string(robot_.modes[k].name);
    }
  }
  throw Refused(
          "the mode is " + std::string(mode.name) + "; set the parameter mode to " + wanted,
          kOtherMode);
}

void Topics::post(const rbd_request & request)
{
  if (!host_.post(request)) {
    throw Refused(
            host_.sentence({RBD_SESSION_WORD_TOO_MANY, -1.0, 0.0, 0.0, 0.0}),
            Follow::Result::INVALID_GOAL);
  }
}

void Topics::handle(int task, int place)
{
  rbd_word wrong;
  if (!robot_.handle_points(session_, place, task, limits_.data(), &wrong)) {
    refuse(wrong);
  }
}

void Topics::read(const Trajectory & message, int place, const rbd_points & points)
{
  const auto & names = message.joint_names;
  const std::size_t n = joints_.size();
  const bool partial = robot_.takes_partial(limits_.data()) && leaves_out(names);
  if (!partial && (names.size() != n ||
    !std::is_permutation(names.begin(), names.end(), joints_.begin())))
  {
    throw Refused(difference(names), Follow::Result::INVALID_JOINTS);
  }
  if (message.points.empty()) {
    refuse(rbd_word{RBD_POINT_WORD_NO_POINTS, -1.0, 0.0, 0.0, 0.0});
  }
  if (message.points.size() > robot_.most_points) {
    throw Refused(
            "the trajectory has " + std::to_string(message.points.size()) + " points; at most " +
            std::to_string(robot_.most_points) + " are taken", Follow::Result::INVALID_GOAL);
  }
  std::array<bool, 3> given{};
  for (const auto & point : message.points) {
    given[0] = given[0] || !point.positions.empty();
    given[1] = given[1] || !point.velocities.empty();
    given[2] = given[2] || !point.accelerations.empty();
  }
  double * const targets[] = {points.q, points.qd, points.qdd};
  for (std::size_t j = 0; j < n; ++j) {
    const bool held = std::find(names.begin(), names.end(), joints_[j]) == names.end();
    points.held[j] = held ? 1.0 : 0.0;
    for (std::size_t i = 0; held && i < message.points.size(); ++i) {
      for (double * const target : targets) {
        target[n * i + j] = 0.0;
      }
    }
  }
  for (std::size_t quantity = 0; quantity < 3; ++quantity) {
    for (std::size_t i = 0; given[quantity] && i < message.points.size(); ++i) {
      const auto & point = message.points[i];
      const std::vector<double> * const fields[] = {
        &point.positions, &point.velocities, &point.accelerations};
      const auto & row = *fields[quantity];
      if (row.size() != names.size()) {
        refuse(
          rbd_word{RBD_POINT_WORD_UNEVEN, -1.0, static_cast<double>(row.size()),
            static_cast<double>(i), static_cast<double>(quantity)});
      }
      for (std::size_t j = 0; j < names.size(); ++j) {
        targets[quantity][n * i + place_of(names[j])] = row[j];
      }
      points.times[i] = seconds(point.time_from_start);
    }
  }
  if (!given[0]) {
    refuse(rbd_word{RBD_POINT_WORD_NO_POSITIONS, -1.0, 0.0, 0.0, 0.0});
  }
  if (given[2] && !given[1]) {
    refuse(rbd_word{RBD_POINT_WORD_NO_VELOCITIES, -1.0, 0.0, 0.0, 0.0});
  }
  *points.count = static_cast<double>(message.points.size());
  *points.rates = given[2] ? 2.0 : given[1] ? 1.0 : 0.0;
  *points.linear = robot_.linear ? 1.0 : 0.0;
  handle(RBD_TASK_CHECK, place);
}

void Topics::read_tolerances(const Follow::Goal & goal, int place, const rbd_points & points)
{
  const std::size_t n = joints_.size();
  std::fill_n(points.path, 3 * n, 0.0);
  std::fill_n(points.tolerance, 3 * n, 0.0);
  const auto put = [this, n](const auto & entries, double * target) {
      for (const auto & each : entries) {
        const std::size_t j = place_of(each.name);
        if (j == n) {
          throw Refused(
                  "tolerance for unknown joint " + each.name, Follow::Result::INVALID_JOINTS);
        }
        target[j] = each.position;
        target[n + j] = each.velocity;
        target[2 * n + j] = each.acceleration;
      }
    };
  put(goal.path_tolerance, points.path);
  put(goal.goal_tolerance, points.tolerance);
  *points.goal_time = seconds(goal.goal_time_tolerance);
  handle(RBD_TASK_TOLERANCES, place);
}

void Topics::hand_over(
  const Trajectory & message, const Follow::Goal * goal, double number,
  const std::function<void()> & before)
{
  Reserved reserved(exchange_.places);
  if (reserved.place() < 0) {
    throw Refused(
            "too many trajectories wait; is the controller active?",
            Follow::Result::INVALID_GOAL);
  }
  rbd_points points;
  robot_.points(session_, reserved.place(), &points);
  read(message, reserved.place(), points);
  if (goal != nullptr) {
    handle(RBD_TASK_SPEEDS, reserved.place());
    read_tolerances(*goal, reserved.place(), points);
  }
  const rclcpp::Time stamp(message.header.stamp);
  const double now = host_.control_time();
  rbd_request request = request_of(RBD_KIND_PIECES);
  request.place = reserved.place();
  request.goal = *points.goal = number;
  request.from_now = stamp.nanoseconds() == 0;
  *points.offset = request.from_now ? now : stamp.seconds();
  if (!request.from_now && !host_.is_simulated()) {
    *points.offset += now - node_->now().seconds();
  }
  handle(RBD_TASK_PREPARE, reserved.place());
  if (goal != nullptr) {  // what would be refused later must not switch the mode
    *points.begin = now;
    handle(RBD_TASK_COMING, reserved.place());
  }
  before();
  post(request);
  reserved.keep();
}

void Topics::take_trajectory(const Trajectory & message)
{
  require(&rbd_mode::takes_trajectories);
  if (message.points.empty()) {  // as joint_trajectory_controller has it: stop here
    post(request_of(RBD_KIND_HOLD));
    return;
  }
  hand_over(message, nullptr, 0.0, [] {});
}

void Topics::take_positions(const std_msgs::msg::Float64MultiArray & message)
{
  take_stream(message, RBD_STREAMED_POSITIONS);
}

void Topics::take_velocities(const std_msgs::msg::Float64MultiArray & message)
{
  take_stream(message, RBD_STREAMED_VELOCITIES);
}

void Topics::take_stream(const std_msgs::msg::Float64MultiArray & message, int of)
{
  const std::size_t n = joints_.size();
  require(&rbd_mode::takes_trajectories);
  const bool rates = of == RBD_STREAMED_VELOCITIES;
  if (message.data.size() != n) {
    refuse(
      rbd_word{RBD_POINT_WORD_COUNT, -1.0, static_cast<double>(message.data.size()),
        static_cast<double>(n), static_cast<double>(of)});
  }
  Reserved reserved(exchange_.places);
  if (reserved.place() < 0) {
    return;  // the next one comes soon
  }
  rbd_points points;
  robot_.points(session_, reserved.place(), &points);
  *points.count = 1.0;
  points.times[0] = 0.0;
  *points.rates = rates ? 1.0 : 0.0;
  std::fill_n(points.held, n, *points.rates);  // no positions
  std::fill_n(points.q, n, 0.0);
  std::copy(message.data.begin(), message.data.end(), rates ? points.qd : points.q);
  handle(RBD_TASK_CHECK, reserved.place());
  rbd_request request = request_of(RBD_KIND_STREAM);
  request.place = reserved.place();
  request.numbers[0] = of;
  post(request);
  reserved.keep();
}

// -- targets of the tip --------------------------------------------------------------------------

void Topics::take_target(int kind, const std::string & frame, std::array<double, 7> numbers)
{
  require(&rbd_mode::takes_targets);
  const rbd_frame * const found = frame_of(
    frame, robot_.frames, robot_.frame_count, "the base");
  rbd_request request = request_of(kind);
  if (found == nullptr) {
    std::copy(numbers.begin(), numbers.end(), request.numbers);
  } else if (kind == RBD_KIND_POSE) {
    const double * const a = found->quaternion, * const b = numbers.data();
    request.numbers[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    request.numbers[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    request.numbers[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    request.numbers[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
    for (std::size_t i = 0; i < 3; ++i) {
      request.numbers[4 + i] = found->origin[i];
      for (std::size_t j = 0; j < 3; ++j) {
        request.numbers[4 + i] += found->axes[3 * i + j] * numbers[4 + j];
      }
    }
  } else {
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        request.numbers[i] += found->axes[3 * (i % 3) + j] * numbers[i - i % 3 + j];
      }
    }
  }
  post(request);
}

void Topics::take_pose(const geometry_msgs::msg::PoseStamped & message)
{
  const auto & p = message.pose.position;
  const auto & q = message.pose.orientation;
  take_target(
    RBD_KIND_POSE, message.header.frame_id, {q.x, q.y, q.z, q.w, p.x, p.y, p.z});
}

void Topics::take_twist(const geometry_msgs::msg::TwistStamped & message)
{
  const auto & w = message.twist.angular;
  const auto & v = message.twist.linear;
  take_target(RBD_KIND_TWIST, message.header.frame_id, {w.x, w.y, w.z, v.x, v.y, v.z, 0.0});
}

void Topics::take_wrench(const geometry_msgs::msg::WrenchStamped & message)
{
  const auto & n = message.wrench.torque;
  const auto & f = message.wrench.force;
  take_target(RBD_KIND_WRENCH, message.header.frame_id, {n.x, n.y, n.z, f.x, f.y, f.z, 0.0});
}

// -- springs -------------------------------------------------------------------------------------

void Topics::take_stiffness(const std_msgs::msg::Float64MultiArray & message)
{
  require(&rbd_mode::takes_stiffness);
  const int current = host_.mode();
  const std::string mode = robot_.modes[current].name;
  const auto * const columns = robot_.spring_columns;
  const auto * const end = columns + robot_.spring_column_count;
  std::size_t width = 0, product = 1;
  for (const auto * each = columns; each != end; ++each) {
    width += current == each->mode ? each->count : 0;
  }
  for (const auto & each : message.layout.dim) {
    product *= each.size;
  }
  const auto & data = message.data;
  if (!message.layout.dim.empty() && product != data.size()) {
    throw Refused(
            "its layout has " + std::to_string(product) + " numbers, its data " +
            std::to_string(data.size()), Follow::Result::INVALID_GOAL);
  }
  if (data.size() != width && data.size() != 2 * width) {
    throw Refused(
            mode + " takes " + std::to_string(width) + " numbers, the stiffness, or " +
            std::to_string(2 * width) + ", the stiffness and then the damping; got " +
            std::to_string(data.size()), Follow::Result::INVALID_GOAL);
  }
  std::vector<rclcpp::Parameter> changes;
  auto from = data.begin();
  for (std::size_t k = 0; k < data.size() / width; ++k) {
    for (const auto * each = columns; each != end; ++each) {
      if (current == each->mode) {
        const auto count = static_cast<std::ptrdiff_t>(each->count);
        const rclcpp::Parameter wanted(each->names[k], std::vector<double>(from, from + count));
        if (node_->get_parameter(each->names[k]) != wanted) {
          changes.push_back(wanted);
        }
        from += count;
      }
    }
  }
  if (!changes.empty()) {
    const auto result = node_->set_parameters_atomically(changes);
    if (!result.successful) {
      throw Refused(result.reason, Follow::Result::INVALID_GOAL);
    }
  }
}

// -- what is carried -----------------------------------------------------------------------------

void Topics::take_payload(const geometry_msgs::msg::InertiaStamped & message)
{
  const auto & load = message.inertia;
  const rbd_frame * const frame = frame_of(
    message.header.frame_id, robot_.payload_frames, robot_.payload_frame_count,
    "the payload frame");
  rbd_body body{
    load.m, {load.com.x, load.com.y, load.com.z},
    {load.ixx, load.ixy, load.ixz, load.iyy, load.iyz, load.izz}, {}, {}};
  write_axes(frame, body.axes);
  for (std::size_t k = 0; frame != nullptr && k < 3; ++k) {
    body.origin[k] = frame->origin[k];
  }
  std::array<double, RBD_PAYLOAD> payload;
  rbd_word wrong;
  if (!robot_.body(&body, payload.data(), &wrong)) {
    refuse(wrong);
  }
  const std::string reason = host_.carry_payload(payload.data());
  if (!reason.empty()) {
    throw Refused(reason, Follow::Result::INVALID_GOAL);
  }
  RCLCPP_INFO(node_->get_logger(), "payload of %g kg", load.m);
}

void Topics::take_imu(const sensor_msgs::msg::Imu & message)
{
  const rbd_frame * const frame = frame_of(
    message.header.frame_id, robot_.frames, robot_.frame_count, "the base");
  const auto & q = message.orientation;
  const auto & stamp = message.header.stamp;
  rbd_direction given{
    host_.control_time(), static_cast<double>(stamp.sec), static_cast<double>(stamp.nanosec),
    message.orientation_covariance[0] == -1.0 ? 1.0 : 0.0, {q.x, q.y, q.z, q.w}, {}};
  write_axes(frame, given.axes);
  rbd_request request = request_of(RBD_KIND_GRAVITY);
  rbd_word wrong;
  const bool fresh = robot_.direction(session_, &given, request.numbers, &wrong);
  if (wrong.code != 0.0) {
    refuse(wrong);
  }
  if (fresh) {
    (void)host_.post(request);  // without updates nobody needs it
  }
}

void Topics::miss_direction()
{
  rbd_word word;
  const int why = imu_ && host_.supervisor_state() == RBD_STATE_CODE_PROBING ?
    robot_.miss_direction(session_, host_.control_time(), &word) : 0;
  if (why != 0) {
    const std::string reason = why == 1 ? "nothing received that could be used" :
      why == 2 ? host_.sentence(word) : "too old";
    RCLCPP_WARN_THROTTLE(
      node_->get_logger(), *node_->get_clock(), 5 * kWarnings,
      "no direction of gravity from the topic %s: %s", imu_->get_topic_name(), reason.c_str());
  }
}

// -- goals ---------------------------------------------------------------------------------------

void Topics::start(const std::shared_ptr<Handle> & handle)
{
  std::unique_lock<std::mutex> lock(reading_), goals(goals_lock_);
  const double number = ++last_goal_;
  goals_[number] = handle;  // before anybody can end it
  try {
    const auto goal = handle->get_goal();
    const rbd_word gate = host_.gate();
    if (gate.code != 0.0) {
      refuse(gate);
    }
    const bool switches = host_.switches();
    if (!goal->multi_dof_trajectory.points.empty() ||
      !goal->multi_dof_trajectory.joint_names.empty())
    {
      throw Refused("multi_dof_trajectory is not supported", Follow::Result::INVALID_JOINTS);
    }
    hand_over(
      goal->trajectory, goal.get(), number, [&] {
        if (switches) {  // who changes parameters waits for these locks
          goals.unlock();
          lock.unlock();
          const std::string mode = node_->get_parameter("goal_mode").as_string();
          const auto result = node_->set_parameter(rclcpp::Parameter("mode", mode));
          lock.lock();
          goals.lock();
          if (!result.successful) {
            throw Refused(
                    "the mode cannot be switched to " + mode + ": " + result.reason,
                    Follow::Result::INVALID_GOAL);
          }
          if (goals_.count(number) == 0 || handle->is_canceling()) {  // meanwhile
            throw Refused("canceled before it began", Follow::Result::INVALID_GOAL);
          }
        }
      });
  } catch (const Refused & error) {
    (void)answer(
      number, RBD_GOAL_STATUS_ABORTED,
      error.code == kOtherMode ? Follow::Result::INVALID_GOAL : error.code, error.what());
  }
}

rclcpp_action::CancelResponse Topics::cancel(const std::shared_ptr<Handle> & handle)
{
  const std::lock_guard<std::mutex> goals(goals_lock_);
  for (const auto & each : goals_) {
    if (each.second == handle) {
      rbd_request request = request_of(RBD_KIND_CANCEL);
      request.numbers[0] = each.first;
      return host_.post(request) ? rclcpp_action::CancelResponse::ACCEPT :
             rclcpp_action::CancelResponse::REJECT;
    }
  }
  return rclcpp_action::CancelResponse::REJECT;
}

bool Topics::answer(double number, int status, int code, const std::string & text)
{
  const auto found = goals_.find(number);
  if (found == goals_.end()) {
    return true;
  }
  const auto handle = found->second;
  if (status == RBD_GOAL_STATUS_CANCELED && !handle->is_canceling()) {
    return false;  // the answer to who cancels it is still on its way
  }
  auto result = std::make_shared<Follow::Result>();
  result->error_code = code;
  result->error_string = text;
  goals_.erase(found);
  if (status == RBD_GOAL_STATUS_ABORTED) {
    RCLCPP_WARN(node_->get_logger(), "goal aborted: %s", text.c_str());
    handle->abort(result);
  } else if (status == RBD_GOAL_STATUS_CANCELED) {
    RCLCPP_INFO(node_->get_logger(), "goal canceled: %s", text.c_str());
    handle->canceled(result);
  } else {
    RCLCPP_INFO(node_->get_logger(), "goal succeeded: %s", text.c_str());
    handle->succeed(result);
  }
  return true;
}

void Topics::look()
{
  const auto now = std::chrono::steady_clock::now();
  if (now - counted_ > kCounting) {
    counted_ = now;
    const std::lock_guard<std::mutex> lock(reading_);
    for (std::size_t topic = 0; topic < topics_; ++topic) {
      if (guarded_[topic].subscription) {
        (void)is_crowded(topic);
      }
    }
    miss_direction();
  }
  const std::lock_guard<std::mutex> goals(goals_lock_);
  rbd_outcome outcome;
  while (exchange_.outcomes.pop(outcome)) {
    unanswered_.push_back(outcome);
  }
  unanswered_.erase(
    std::remove_if(
      unanswered_.begin(), unanswered_.end(), [this](const rbd_outcome & each) {
        return answer(each.goal, each.status, each.code, host_.sentence(each.word));
      }), unanswered_.end());
  if (!goals_.empty() && now - fed_back_ > kFeedback) {
    fed_back_ = now;
    publish_feedback();
    end_silent();
  }
}

void Topics::publish_feedback()
{
  if (!exchange_.progress.receive()) {
    return;
  }
  const auto & progress = exchange_.progress.received();
  const auto found = goals_.find(progress[0]);
  if (found == goals_.end()) {
    return;
  }
  auto feedback = std::make_shared<Follow::Feedback>();
  feedback->header.stamp = node_->now();
  feedback->joint_names = joints_;
  const std::size_t n = joints_.size();
  const auto fill = [&progress, n](auto & point, const double * numbers, std::size_t rows) {
      point.time_from_start = rclcpp::Duration::from_seconds(progress[1]);
      std::vector<double> * const fields[] = {
        &point.positions, &point.velocities, &point.accelerations};
      for (std::size_t k = 0; k < rows; ++k) {
        fields[k]->assign(numbers + n * k, numbers + n * (k + 1));
      }
    };
  fill(feedback->desired, progress.data() + 3, 3);
  fill(feedback->actual, progress.data() + 3 + 3 * n, 2);
  fill(feedback->error, progress.data() + 3 + 5 * n, 2);
  found->second->publish_feedback(feedback);
  const auto & stamp = feedback->header.stamp;
  robot_.told(
    session_, found->second->get_goal_id().data(), stamp.sec, stamp.nanosec, steady_time());
}

void Topics::end_silent()
{
  const auto & progress = exchange_.progress.received();
  if (goals_.count(progress[0]) == 0 || progress[0] == silent_ ||
    !robot_.is_silent(session_, progress.data(), steady_time(), goal_lease_))
  {
    return;
  }
  rbd_request request = request_of(RBD_KIND_CANCEL);
  request.numbers[0] = progress[0];
  request.numbers[2] = 1.0;
  silent_ = host_.post(request) ? progress[0] : silent_;
}

}  // namespace rbd_controller
