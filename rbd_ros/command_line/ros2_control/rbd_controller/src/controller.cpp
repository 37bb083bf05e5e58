// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#include "rbd_controller/controller.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rcl_interfaces/msg/parameter_descriptor.hpp"
#include "rcl_interfaces/msg/set_parameters_result.hpp"

#include "rbd_controller/codes.h"
#include "rbd_controller/parameters.hpp"
#include "rbd_controller/words.hpp"

namespace rbd_controller
{

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;
using hardware_interface::HW_IF_ACCELERATION;
using hardware_interface::HW_IF_EFFORT;
using hardware_interface::HW_IF_POSITION;
using hardware_interface::HW_IF_VELOCITY;

namespace
{

/// for which a service waits for the next update
constexpr auto kPatience = std::chrono::milliseconds(500);

/// between two looks at what the step has said
constexpr auto kSaying = std::chrono::milliseconds(20);

/// ms between two warnings of what a start waits for
constexpr int kWaiting = 5000;

/// state interfaces of each measured joint; those of the force-torque sensor follow
constexpr const char * kStates[] = {HW_IF_POSITION, HW_IF_VELOCITY, HW_IF_EFFORT};
constexpr std::size_t kStateCount = 3;

std_msgs::msg::String text_message(const std::string & text)
{
  std_msgs::msg::String message;
  message.data = text;
  return message;
}

}  // namespace

Controller::~Controller()
{
  closing_ = true;
  while (waiting_ > 0) {  // a service that still waits for an answer
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// -- lifecycle -----------------------------------------------------------------------------------

std::string Controller::load_robot()
{
  rcl_interfaces::msg::ParameterDescriptor about;
  about.description = "Library of the robot, as the dynamic linker finds it; empty: linked in.";
  about.read_only = true;
  if (!get_node()->has_parameter("robot_library")) {
    get_node()->declare_parameter("robot_library", std::string(), about);
  }
  try {
    library_ = std::make_unique<Robot>(get_node()->get_parameter("robot_library").as_string());
  } catch (const std::runtime_error & error) {
    return error.what();
  }
  robot_ = &library_->table();
  memory_ = std::make_unique<Session>(*robot_);
  session_ = memory_->get();
  exchange_ = std::make_unique<Exchange>(*robot_);
  topics_ = std::make_unique<Topics>(
    static_cast<Host &>(*this), *exchange_, *robot_, session_);
  reports_ = std::make_unique<Reports>(*robot_, *exchange_);
  const rbd_host host{
    this,
    [](void * self, const double * torque) {
      for (auto & command : static_cast<Controller *>(self)->command_interfaces_) {
        (void)command.set_value(*torque++);
      }
    },
    [](void * self, const rbd_word * word) {
      (void)static_cast<Controller *>(self)->exchange_->words.push(*word);
    },
    [](void * self, const rbd_outcome * outcome) {
      (void)static_cast<Controller *>(self)->exchange_->outcomes.push(*outcome);
    },
    [](void * self, int place) {
      static_cast<Controller *>(self)->exchange_->places.release(place);
    }};
  robot_->init(session_, &host);
  values_.assign(robot_->values, robot_->values + robot_->value_count);
  wanted_.resize(robot_->parameters);
  wanted_limits_.resize(robot_->limits);
  measured_.resize(kStateCount * robot_->measured_count);
  references_.resize(3 * robot_->joint_count);
  texts_.resize(robot_->cause_count);
  note_.numbers.resize(2 + 6 * robot_->joint_count);
  return "";
}

std::string Controller::read_parameters()
{
  // Every parameter of the node is there to be read. Most that the node takes while it runs may
  // change here, too; the others are what the numbers of the step were made from.
  for (std::size_t k = 0; k < robot_->parameter_count; ++k) {
    const auto & row = robot_->parameter_rows[k];
    rcl_interfaces::msg::ParameterDescriptor about;
    about.description = row.description;  // not read-only: check() says why it cannot be changed
    const auto usual = value_of(row);
    if (!get_node()->has_parameter(row.name)) {
      get_node()->declare_parameter(row.name, usual, about);
    }
    const auto given = get_node()->get_parameter(row.name);
    if (given.get_parameter_value() == usual) {
      continue;
    }
    const auto live = live_of(*robot_, row.name);
    if (live < robot_->live_count) {
      const std::string wrong = take_value(*robot_, live, given, values_);
      if (!wrong.empty()) {
        return wrong;
      }
    } else if (row.fixed != nullptr) {
      return std::string(row.name) + " is " + given.value_to_string() +
             ", but this controller was generated with " + rclcpp::to_string(usual) + " (" +
             row.fixed + "). Generate it again: " + kGenerate;
    }
  }
  rbd_word wrong;
  return robot_->judge(values_.data(), nullptr, &wrong) ? "" :
         rbd_controller::sentence(*robot_, wrong, "");
}

CallbackReturn Controller::on_init()
{
  std::string wrong = load_robot();
  wrong = wrong.empty() ? read_parameters() : wrong;
  if (!wrong.empty()) {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", wrong.c_str());
    return CallbackReturn::ERROR;
  }
  fill();
  tell_topics();
  parameters_ = get_node()->add_on_set_parameters_callback(
    [this](const std::vector<rclcpp::Parameter> & changed) {return check(changed);});
  after_parameters_ = get_node()->add_post_set_parameters_callback(
    [this](const std::vector<rclcpp::Parameter> & changed) {apply(changed);});
  return CallbackReturn::SUCCESS;
}

InterfaceConfiguration Controller::command_interface_configuration() const
{
  InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
  for (const auto & joint : names_of(robot_->joints, robot_->joint_count)) {
    wanted.names.push_back(joint + "/" + HW_IF_EFFORT);
  }
  return wanted;
}

InterfaceConfiguration Controller::state_interface_configuration() const
{
  InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
  for (std::size_t k = 0; k < robot_->measured_count; ++k) {
    for (const char * kind : kStates) {
      wanted.names.push_back(std::string(robot_->measured[k]) + "/" + kind);
    }
  }
  wanted.names.insert(
    wanted.names.end(), robot_->sensed, robot_->sensed + robot_->sensed_count);
  return wanted;
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
Controller::on_export_reference_interfaces_list()
{
  std::vector<hardware_interface::CommandInterface::SharedPtr> exported;
  for (const auto & joint : names_of(robot_->joints, robot_->joint_count)) {
    for (const char * kind : {HW_IF_POSITION, HW_IF_VELOCITY, HW_IF_ACCELERATION}) {
      hardware_interface::InterfaceInfo info;
      info.name = kind;
      info.data_type = "double";
      hardware_interface::InterfaceDescription described(
        std::string(get_node()->get_name()) + "/" + joint, info);
      exported.push_back(std::make_shared<hardware_interface::CommandInterface>(described));
    }
  }
  return exported;
}

bool Controller::on_set_chained_mode(bool)
{
  robot_->leave(session_);
  return true;
}

rclcpp::Service<Controller::Trigger>::SharedPtr Controller::serve_trigger(
  const std::string & name, const std::function<Reply()> & act)
{
  return get_node()->create_service<Trigger>(
    name, [act](
      const std::shared_ptr<Trigger::Request>, std::shared_ptr<Trigger::Response> response) {
      const Reply reply = act();
      response->success = reply.granted;
      response->message = reply.text;
    });
}

CallbackReturn Controller::on_configure(const rclcpp_lifecycle::State &)
{
  const auto node = get_node();
  const auto latched = rclcpp::QoS(1).transient_local();
  mode_topic_ = node->create_publisher<std_msgs::msg::String>("~/mode", latched);
  state_topic_ = node->create_publisher<std_msgs::msg::String>("~/state", latched);
  fault_topic_ = node->create_publisher<std_msgs::msg::String>("~/fault", latched);
  heartbeat_ = node->create_publisher<std_msgs::msg::UInt64>("~/heartbeat", 1);
  simulated_ = node->get_parameter("use_sim_time").as_bool();
  {
    const std::lock_guard<std::mutex> lock(asking_);
    fill();
    new_payload_.clear();
  }
  configured_ = true;
  topics_->open(node);
  reports_->open(node);
  stop_ = serve_trigger("~/stop", [this]() {return stop();});
  reset_ = serve_trigger(
    "~/reset", [this]() {
      return ask(RBD_KIND_RESET);
    });
  pause_ = node->create_service<SetBool>(
    "~/pause", [this](
      const std::shared_ptr<SetBool::Request> request,
      std::shared_ptr<SetBool::Response> response) {
      const double numbers[] = {request->data ? 1.0 : 0.0, 0.0};
      const Reply reply = ask(RBD_KIND_PAUSE, numbers, 2);
      response->success = reply.granted;
      response->message = reply.text;
    });
  if (robot_->sensed_count > 0) {
    wrench_topic_ = node->create_publisher<geometry_msgs::msg::WrenchStamped>(
      "~/measured_wrench", 10);
    tare_ = serve_trigger(
      "~/tare_force_torque", [this]() {
        const Reply reply = ask(RBD_KIND_TARE);
        RCLCPP_INFO(get_node()->get_logger(), "~/tare_force_torque: %s", reply.text.c_str());
        return reply;
      });
  }
  dead_man_ = node->create_subscription<std_msgs::msg::Bool>(
    "~/dead_man", 10, [this](const std_msgs::msg::Bool & message) {
      (message.data ? pressed_ : released_) = true;
    });
  timer_ = node->create_wall_timer(kSaying, [this]() {say();});
  return CallbackReturn::SUCCESS;
}

CallbackReturn Controller::on_cleanup(const rclcpp_lifecycle::State &)
{
  // The threads of the controller manager may be in the midst of a callback.
  topics_->close();
  const std::lock_guard<std::mutex> lock(saying_);
  reports_->close();
  timer_.reset();
  dead_man_.reset();
  stop_.reset();
  reset_.reset();
  tare_.reset();
  pause_.reset();
  wrench_topic_.reset();
  mode_topic_.reset();
  state_topic_.reset();
  fault_topic_.reset();
  heartbeat_.reset();
  told_state_ = told_mode_ = -1;
  told_faults_ = false;
  return CallbackReturn::SUCCESS;
}

CallbackReturn Controller::on_activate(const rclcpp_lifecycle::State &)
{
  forget_requests();
  stop_ticket_ = 0;
  pressed_ = released_ = false;
  renewed_ = true;
  sensed_ = true;
  references_.assign(references_.size(), kNothing);
  for (const auto & exported : ordered_exported_reference_interfaces_) {
    (void)exported->set_value(kNothing);
  }
  read_clock(get_node()->now());
  {
    const std::lock_guard<std::mutex> lock(asking_);
    (void)exchange_->parameters.receive();
    started_ = wanted_;
    robot_->prepare(
      session_, wanted_.data(), configured_, new_payload_.empty() ? nullptr : new_payload_.data());
    configured_ = false;
    new_payload_.clear();
    serving_ = true;  // what comes from here on waits for the first update
  }
  const double refused = robot_->activate(session_, is_taken_over());
  tell_others();
  if (refused != 0.0) {
    end_service();
    RCLCPP_ERROR(
      get_node()->get_logger(), "%s",
      sentence(rbd_word{refused, -1.0, static_cast<double>(status_.state), 0.0, 0.0}).c_str());
    return CallbackReturn::FAILURE;
  }
  return CallbackReturn::SUCCESS;
}

CallbackReturn Controller::on_deactivate(const rclcpp_lifecycle::State &)
{
  // No update follows: what is written here is what stays. Who wants a braked end calls ~/stop
  // first and waits for the state that it leads to.
  read_clock(get_node()->now());
  robot_->deactivate(session_);
  tell_others();
  state_.store(RBD_STATE_CODE_INACTIVE, std::memory_order_relaxed);  // nothing goes on
  end_service();
  return CallbackReturn::SUCCESS;
}

void Controller::end_service()
{
  {
    const std::lock_guard<std::mutex> lock(asking_);
    serving_ = false;
  }
  forget_requests();
}

void Controller::forget_requests()
{
  rbd_request request;
  while (exchange_->requests.pop(request)) {  // what was asked while nobody listened
    robot_->drop(session_, &request);
  }
}

// -- in the real-time thread ---------------------------------------------------------------------

void Controller::read_clock(const rclcpp::Time & time)
{
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  stamp_ = time.nanoseconds();
  robot_->set_time(
    session_, time.seconds(), std::chrono::duration<double>(steady).count());
}

void Controller::reply(unsigned ticket, const rbd_answer & given)
{
  auto & answer = answers_[ticket % answers_.size()];
  std::array<double, sizeof(rbd_answer) / sizeof(double)> numbers;
  std::memcpy(numbers.data(), &given, sizeof(given));
  std::copy(numbers.begin(), numbers.end(), answer.numbers.begin());
  answer.ticket.store(ticket, std::memory_order_release);
}

void Controller::serve()
{
  rbd_answer answer;
  if (const unsigned ticket = stop_ticket_.exchange(0)) {
    robot_->stop(session_, ticket, &answer);
    reply(ticket, answer);
  }
  const bool released = released_.exchange(false);
  if (pressed_.exchange(false)) {
    robot_->press(session_, 1);
  }
  if (released) {  // one of these between any number of others counts
    robot_->press(session_, 0);
  }
  rbd_request request;
  for (int k = 0; k < 8 && exchange_->requests.pop(request); ++k) {  // few for each update
    if (request.ticket != 0 && request.ticket == given_up_.load(std::memory_order_acquire)) {
      continue;  // it was answered with a refusal: it must not happen later
    }
    take_parameters();  // those that were set before it was asked count for it
    robot_->request(session_, &request, &answer);
    if (request.ticket != 0) {
      reply(request.ticket, answer);
    }
  }
  take_parameters();
}

void Controller::take_parameters()
{
  if (exchange_->parameters.receive()) {
    robot_->set_parameters(session_, exchange_->parameters.received().data());
  }
}

bool Controller::is_taken_over() const
{
  bool commanded = true, acts = false;
  for (const auto & command : command_interfaces_) {
    commanded = commanded && std::isfinite(command.get_optional().value_or(kNothing));
  }
  for (std::size_t k = 2; k < measured_.size(); k += kStateCount) {
    acts = acts || std::abs(state_interfaces_[k].get_optional().value_or(0.0)) > 0.0;
  }
  return commanded && acts;
}

void Controller::take_references()
{
  for (std::size_t k = 0; k < references_.size(); ++k) {
    references_[k] =
      ordered_exported_reference_interfaces_[k]->get_optional().value_or(references_[k]);
  }
  robot_->follow(session_, references_.data());
}

void Controller::take_reading()
{
  std::array<double, RBD_SENSED> numbers;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const auto number = state_interfaces_[measured_.size() + k].get_optional();
    if (!number) {
      return;  // it is being written all the time: no reading
    }
    numbers[k] = *number;
  }
  robot_->reading(session_, numbers.data());
}

void Controller::take_state()
{
  for (std::size_t k = 0; k < measured_.size(); ++k) {
    measured_[k] = state_interfaces_[k].get_optional().value_or(kNothing);
  }
  robot_->state(session_, measured_.data(), renewed_);
  renewed_ = false;
}

return_type Controller::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration &)
{
  return return_type::OK;
}

return_type Controller::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration &)
{
  read_clock(time);
  serve();
  if (is_in_chained_mode()) {
    take_references();
  }
  if (robot_->sensed_count > 0) {
    take_reading();
  }
  take_state();
  const bool watched = exchange_->watched.load(std::memory_order_relaxed);
  if (robot_->note(session_, watched ? state_divider_.load() : 0, note_.numbers.data())) {
    note_.stamp = stamp_;
    (void)exchange_->notes.push(note_);
  }
  robot_->timer(session_);  // what needs no state: a stop goes on without them
  tell_others();
  sensed_.store(status_.sensed, std::memory_order_relaxed);
  return return_type::OK;
}

void Controller::tell_others()
{
  robot_->look(session_, &status_);
  state_.store(status_.state, std::memory_order_relaxed);
  mode_.store(status_.mode, std::memory_order_relaxed);
  beats_.store(status_.beats, std::memory_order_relaxed);
  gate_.store(status_.gate.code, std::memory_order_relaxed);
  gate_a_.store(status_.gate.a, std::memory_order_relaxed);
  switches_.store(status_.switches, std::memory_order_relaxed);
  const std::uint64_t fresh = status_.latched & ~latched_.load(std::memory_order_relaxed);
  for (std::size_t k = 0; k < robot_->cause_count; ++k) {
    if (fresh >> k & 1U) {
      Fault fault{k, {}};
      robot_->fault(session_, k, &fault.word);
      (void)exchange_->faults.push(fault);
    }
  }
  latched_.store(status_.latched, std::memory_order_release);
  if (status_.measured) {
    auto & sensed = exchange_->sensed.draft();
    sensed.stamp = stamp_;
    std::copy_n(status_.wrench, RBD_SENSED, sensed.numbers.begin());
    exchange_->sensed.send();
  }
  if (robot_->goals(session_, exchange_->progress.draft().data())) {
    exchange_->progress.send();
  }
}

// -- in slower threads ---------------------------------------------------------------------------

bool Controller::post(const rbd_request & request)
{
  const std::lock_guard<std::mutex> lock(asking_);
  return serving_ && exchange_->requests.push(request);
}

double Controller::control_time() const
{
  if (simulated_) {
    return get_node()->now().seconds();
  }
  return std::chrono::duration<double>(
    std::chrono::steady_clock::now().time_since_epoch()).count();
}

Controller::Reply Controller::ask(int kind, const double * numbers, std::size_t count)
{
  rbd_request request{kind, 0.0, 0, -1, 0, 0.0, {}};
  std::copy(numbers, numbers + count, request.numbers);
  {
    const std::lock_guard<std::mutex> lock(asking_);
    if (!serving_ && kind == RBD_KIND_RESET) {
      return refusal(RBD_SUPERVISOR_WORD_NOTHING_TO_RESET, RBD_STATE_CODE_INACTIVE);
    }
    request.ticket = ++last_ticket_;
    request.stops = last_stop_;
    if (!exchange_->requests.push(request)) {
      return refusal(RBD_SESSION_WORD_TOO_MANY, 0.0);
    }
  }
  return wait_for(request.ticket);
}

Controller::Reply Controller::stop()
{
  unsigned ticket;
  {
    const std::lock_guard<std::mutex> lock(asking_);
    if (!serving_) {
      return {true, refusal(RBD_SESSION_WORD_NOTHING_TO_STOP, 0.0).text};
    }
    stop_ticket_ = ticket = last_stop_ = ++last_ticket_;
  }
  return wait_for(ticket);
}

Controller::Reply Controller::refusal(double word, double a) const
{
  return {false, rbd_controller::sentence(*robot_, {word, -1.0, a, 0.0, 0.0}, "")};
}

Controller::Reply Controller::wait_for(unsigned ticket)
{
  ++waiting_;
  const auto & answer = answers_[ticket % answers_.size()];
  const auto end = std::chrono::steady_clock::now() + kPatience;
  Reply reply = refusal(
    RBD_SESSION_WORD_NO_ANSWER, std::chrono::duration<double>(kPatience).count());
  bool late = false;
  while (!late && answer.ticket.load(std::memory_order_acquire) != ticket) {
    late = closing_ || std::chrono::steady_clock::now() > end;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (late) {
    given_up_.store(ticket, std::memory_order_release);
  } else {
    std::array<double, sizeof(rbd_answer) / sizeof(double)> numbers;
    rbd_answer given;
    std::copy(answer.numbers.begin(), answer.numbers.end(), numbers.begin());
    std::memcpy(&given, numbers.data(), sizeof(given));
    reply = {given.granted > 0.0, sentence(given.words[0])};
    if (given.count > 1.0) {
      reply.text += ", " + sentence(given.words[1]);
    }
  }
  --waiting_;
  return reply;
}

std::string Controller::carry_payload(const double * numbers)
{
  {
    const std::lock_guard<std::mutex> lock(asking_);
    if (!serving_) {
      new_payload_.assign(numbers, numbers + RBD_PAYLOAD);
      return "";
    }
  }
  Reply reply = ask(RBD_KIND_WEIGH, numbers, RBD_PAYLOAD);
  if (reply.granted) {
    reply = ask(RBD_KIND_PAYLOAD, numbers, RBD_PAYLOAD);
  }
  return reply.granted ? "" : reply.text;
}

std::string Controller::sentence(const rbd_word & word) const
{
  return rbd_controller::sentence(*robot_, word, fault_text());
}

void Controller::say()
{
  const std::lock_guard<std::mutex> lock(saying_);
  if (!mode_topic_) {
    return;
  }
  const auto logger = get_node()->get_logger();
  rbd_word word;
  while (exchange_->words.pop(word)) {
    if (word.code == RBD_FLOW_WORD_STATE || word.code == RBD_FLOW_WORD_MODE ||
      word.code == RBD_ARRIVAL_WORD_UNSTAMPED)
    {
      continue;  // the first two are topics; interfaces never have stamps
    }
    RCLCPP_WARN(logger, "%s", sentence(word).c_str());
  }
  if (const auto lost = exchange_->words.lost()) {
    RCLCPP_WARN(logger, "%zu messages were lost", lost);
  }
  const int state = state_.load(std::memory_order_relaxed);
  const int mode = mode_.load(std::memory_order_relaxed);
  const auto latched = latched_.load(std::memory_order_acquire);
  if (mode != told_mode_) {
    mode_topic_->publish(text_message(robot_->modes[mode].name));
  }
  read_faults();
  if (latched != told_latched_ || !told_faults_) {
    const std::string text = fault_text();
    fault_topic_->publish(text_message(text));
    if (!text.empty()) {
      RCLCPP_ERROR(logger, "%s", text.c_str());
    }
  }
  if (state != told_state_) {
    state_topic_->publish(text_message(robot_->states[state]));
    RCLCPP_INFO(logger, "%s", robot_->states[state]);
  }
  told_mode_ = mode;
  told_latched_ = latched;
  told_faults_ = true;
  told_state_ = state;
  topics_->look();
  reports_->look();
  say_wrench();
  const auto beats = beats_.load(std::memory_order_relaxed);
  if (beats != beat_.data) {
    beat_.data = beats;
    heartbeat_->publish(beat_);
  }
}

void Controller::say_wrench()
{
  if (state_.load(std::memory_order_relaxed) == RBD_STATE_CODE_PROBING &&
    !sensed_.load(std::memory_order_relaxed))
  {
    RCLCPP_WARN_THROTTLE(
      get_node()->get_logger(), *get_node()->get_clock(), kWaiting,
      "no fresh reading of the force-torque sensor: %s to %s are not finite, or are the same all "
      "the time", robot_->sensed[0], robot_->sensed[robot_->sensed_count - 1]);
  }
  if (!wrench_topic_ || !exchange_->sensed.receive()) {
    return;
  }
  const auto & sensed = exchange_->sensed.received();
  const auto & numbers = sensed.numbers;
  geometry_msgs::msg::WrenchStamped message;
  message.header.stamp = rclcpp::Time(sensed.stamp);
  message.header.frame_id = robot_->tip;
  auto & n = message.wrench.torque;
  auto & f = message.wrench.force;
  double * const fields[] = {&n.x, &n.y, &n.z, &f.x, &f.y, &f.z};
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    *fields[k] = numbers[k];
  }
  wrench_topic_->publish(message);
}

void Controller::read_faults()
{
  Fault fault;
  while (exchange_->faults.pop(fault)) {
    const std::string detail = fault.word.code == RBD_FLOW_WORD_OUTSIDE ? "" :
      sentence(fault.word);
    texts_[fault.cause] = robot_->causes[fault.cause] + (detail.empty() ? "" : ": " + detail);
  }
}

std::string Controller::fault_text() const
{
  const auto latched = latched_.load(std::memory_order_acquire);
  std::string text;
  for (std::size_t k = 0; k < robot_->cause_count; ++k) {
    if (latched >> k & 1U) {
      text += (text.empty() ? "" : "; ") + texts_[k];
    }
  }
  return text;
}

// -- parameters ----------------------------------------------------------------------------------

rcl_interfaces::msg::SetParametersResult Controller::check(
  const std::vector<rclcpp::Parameter> & changed)
{
  Numbers values, started;
  bool serving;
  {
    const std::lock_guard<std::mutex> lock(asking_);
    values = values_;
    serving = serving_;
    started = started_;
  }
  std::string wrong;
  bool loaded = false;
  for (const auto & each : changed) {
    const auto & name = each.get_name();
    const auto live = live_of(*robot_, name);
    std::string reason;
    if (live < robot_->live_count) {
      reason = take_value(*robot_, live, each, values);
      loaded = loaded || name.rfind("payload.", 0) == 0;
    }
    for (std::size_t k = 0; k < robot_->parameter_count; ++k) {
      const auto & row = robot_->parameter_rows[k];
      if (name == row.name && row.fixed != nullptr && each.get_parameter_value() != value_of(row)) {
        reason = name + " is what this controller was generated with (" + row.fixed +
          "). Generate it again: " + kGenerate;
      }
    }
    wrong = reason.empty() ? wrong : reason;
  }
  rbd_word why;
  rcl_interfaces::msg::SetParametersResult result;
  result.reason = !wrong.empty() ||
    robot_->judge(values.data(), serving ? started.data() : nullptr, &why) ? wrong :
    rbd_controller::sentence(*robot_, why, "");
  if (result.reason.empty() && loaded && serving) {
    std::array<double, RBD_PAYLOAD> payload;
    robot_->payload(values.data(), payload.data());
    const Reply reply = ask(RBD_KIND_WEIGH, payload.data(), payload.size());
    result.reason = reply.granted ? "" : reply.text;
  }
  result.successful = result.reason.empty();
  return result;
}

void Controller::apply(const std::vector<rclcpp::Parameter> & changed)
{
  if (take(changed)) {
    tell_topics();  // a callback of a topic waits for asking_
  }
}

void Controller::tell_topics()
{
  topics_->set_limits(wanted_limits_, values_[robot_->goal_lease_at]);
}

bool Controller::take(const std::vector<rclcpp::Parameter> & changed)
{
  const std::lock_guard<std::mutex> lock(asking_);
  bool any = false;
  for (const auto & each : changed) {
    const auto live = live_of(*robot_, each.get_name());
    any = (live < robot_->live_count && take_value(*robot_, live, each, values_).empty()) || any;
  }
  if (any) {
    fill();
    exchange_->parameters.draft() = wanted_;
    exchange_->parameters.send();
  }
  return any;
}

void Controller::fill()
{
  state_divider_ = static_cast<int>(values_[robot_->state_divider_at]);
  robot_->fill(session_, values_.data(), simulated_, wanted_.data(), wanted_limits_.data());
}

}  // namespace rbd_controller

PLUGINLIB_EXPORT_CLASS(
  rbd_controller::Controller, controller_interface::ChainableControllerInterface)
