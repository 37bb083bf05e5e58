// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#ifndef RBD_CONTROLLER__CONTROLLER_HPP_
#define RBD_CONTROLLER__CONTROLLER_HPP_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_msgs/msg/bool.hpp"
#include "std_msgs/msg/string.hpp"
#include "std_msgs/msg/u_int64.hpp"
#include "std_srvs/srv/set_bool.hpp"
#include "std_srvs/srv/trigger.hpp"

#include "rbd_controller/exchange.hpp"
#include "rbd_controller/reports.hpp"
#include "rbd_controller/robot.hpp"
#include "rbd_controller/topics.hpp"

namespace rbd_controller
{

/// The controller of rbd_ros inside ros2_control: it carries states, requests and words between
/// the controller manager, ROS and the session of a robot.
class Controller : public controller_interface::ChainableControllerInterface, private Host
{
public:
  ~Controller() override;

  controller_interface::CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State &) override;
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State &) override;
  controller_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override;
  controller_interface::CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() override;
  bool on_set_chained_mode(bool chained) override;
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  using SetBool = std_srvs::srv::SetBool;
  using Trigger = std_srvs::srv::Trigger;

  /// The answer to a request: the numbers of a rbd_answer.
  struct Answer
  {
    std::atomic<unsigned> ticket{0};
    std::array<std::atomic<double>, sizeof(rbd_answer) / sizeof(double)> numbers{};
  };

  /// What a service answers.
  struct Reply
  {
    bool granted = false;
    std::string text;
  };

  // -- in the real-time thread: no allocation, no lock, no system call but the clock
  void read_clock(const rclcpp::Time & time);
  void serve();
  void take_parameters();
  void reply(unsigned ticket, const rbd_answer & answer);
  void forget_requests();
  void take_references();
  void take_reading();
  void take_state();
  void tell_others();
  bool is_taken_over() const;

  // -- in slower threads
  bool post(const rbd_request & request) override;
  std::string sentence(const rbd_word & word) const override;
  double control_time() const override;
  bool is_simulated() const override {return simulated_;}
  int supervisor_state() const override {return state_.load(std::memory_order_relaxed);}
  int mode() const override {return mode_.load(std::memory_order_relaxed);}
  rbd_word gate() const override {return {gate_, -1.0, gate_a_, 0.0, 0.0};}
  bool switches() const override {return switches_;}
  std::string carry_payload(const double * numbers) override;
  std::string load_robot();
  std::string read_parameters();
  std::string fault_text() const;
  rclcpp::Service<Trigger>::SharedPtr serve_trigger(
    const std::string & name, const std::function<Reply()> & act);
  Reply ask(int kind, const double * numbers = nullptr, std::size_t count = 0);
  Reply stop();
  Reply wait_for(unsigned ticket);
  Reply refusal(double word, double a) const;
  void end_service();
  void say();
  void say_wrench();
  void read_faults();
  rcl_interfaces::msg::SetParametersResult check(const std::vector<rclcpp::Parameter> & changed);
  void apply(const std::vector<rclcpp::Parameter> & changed);
  bool take(const std::vector<rclcpp::Parameter> & changed);
  void fill();
  void tell_topics();

  std::unique_ptr<Robot> library_;
  const rbd_robot * robot_ = nullptr;
  std::unique_ptr<Session> memory_;
  rbd_session * session_ = nullptr;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<Topics> topics_;
  std::unique_ptr<Reports> reports_;

  bool renewed_ = true;             // the next state is the first of its kind
  Numbers measured_, references_;   // as they were read last
  std::int64_t stamp_ = 0;          // ns, of the update
  Stamped note_;                    // of the last states
  rbd_status status_{};

  std::vector<std::string> texts_;  // of the causes, for the slower thread
  std::mutex asking_;  // among slower threads; nothing else is waited for with it
  std::mutex saying_;  // while what says something exists
  std::atomic<unsigned> stop_ticket_{0};  // a stop needs no place in a queue
  unsigned last_stop_ = 0;  // its ticket
  std::atomic<bool> pressed_{false}, released_{false};
  std::atomic<unsigned> given_up_{0};  // what nobody waits for any more
  std::atomic<bool> closing_{false};
  std::atomic<int> waiting_{0};
  bool configured_ = false;         // no activation since the last configuration
  bool simulated_ = false;
  std::atomic<int> state_divider_{0};  // updates for each report; 0: none
  Numbers values_;                  // of parameters
  Numbers wanted_, wanted_limits_;  // numbers that were made of them last
  Numbers started_;                 // with which the robot was activated
  std::array<Answer, 16> answers_;  // by ticket: more than wait at once
  bool serving_ = false;            // updates take what is asked
  Numbers new_payload_;             // given while they do not
  unsigned last_ticket_ = 0;
  std::atomic<int> state_{0}, mode_{0};
  std::atomic<double> gate_{0.0}, gate_a_{0.0};  // why no goal is taken
  std::atomic<bool> switches_{false};
  std::atomic<std::uint64_t> latched_{0};
  std::atomic<bool> sensed_{true};  // the force-torque sensor can be used
  int told_state_ = -1, told_mode_ = -1;
  std::uint64_t told_latched_ = 0;
  bool told_faults_ = false;

  rclcpp::Service<Trigger>::SharedPtr stop_, reset_, tare_;
  rclcpp::Service<SetBool>::SharedPtr pause_;
  rclcpp::Subscription<std_msgs::msg::Bool>::SharedPtr dead_man_;
  rclcpp::Publisher<std_msgs::msg::String>::SharedPtr mode_topic_, state_topic_, fault_topic_;
  rclcpp::Publisher<std_msgs::msg::UInt64>::SharedPtr heartbeat_;
  rclcpp::Publisher<geometry_msgs::msg::WrenchStamped>::SharedPtr wrench_topic_;
  std::atomic<std::uint64_t> beats_{0};
  std_msgs::msg::UInt64 beat_;  // that was sent last
  rclcpp::TimerBase::SharedPtr timer_;
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr parameters_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr after_parameters_;
};

}  // namespace rbd_controller

#endif  // RBD_CONTROLLER__CONTROLLER_HPP_
