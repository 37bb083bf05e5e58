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

// A controller manager in one process, driven by a script.
//
//   manager URDF SCRIPT STEPS RATE CYCLES --ros-args --params-file FILE
//
// Lines of the script: "CYCLE COMMAND ARGUMENTS". STEPS gets what went into each call of the
// controller's step and what came out. At the end it prints the times of the updates and how often
// they allocated.

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "controller_manager/controller_manager.hpp"
#include "lifecycle_msgs/msg/state.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_srvs/srv/trigger.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

#include STEP_HEADER

// -- what is seen from outside ---------------------------------------------------------------------

namespace
{
thread_local bool watched = false;
std::atomic<long> allocations{0};
std::FILE * steps = nullptr;
}  // namespace

extern "C" void * __libc_malloc(std::size_t size);
extern "C" void * __libc_calloc(std::size_t count, std::size_t size);
extern "C" void * __libc_realloc(void * memory, std::size_t size);

extern "C" void * malloc(std::size_t size)
{
  allocations += watched ? 1 : 0;
  return __libc_malloc(size);
}

extern "C" void * calloc(std::size_t count, std::size_t size)
{
  allocations += watched ? 1 : 0;
  return __libc_calloc(count, size);
}

extern "C" void * realloc(void * memory, std::size_t size)
{
  allocations += watched ? 1 : 0;
  return __libc_realloc(memory, size);
}

// The controller calls its step through the table of symbols, so that it comes by here.
extern "C" void STEP(MEMORY * memory)
{
  using Step = void (*)(MEMORY *);
  static const auto step = reinterpret_cast<Step>(dlsym(RTLD_NEXT, STEP_NAME));
  const bool before = watched;
  watched = false;
  if (steps != nullptr) {
    std::fwrite(&memory->u, sizeof(memory->u), 1, steps);
    std::fwrite(&memory->p, sizeof(memory->p), 1, steps);
  }
  watched = before;
  step(memory);
  watched = false;
  if (steps != nullptr) {
    std::fwrite(&memory->y, sizeof(memory->y), 1, steps);
  }
  watched = before;
}

// -- the script ------------------------------------------------------------------------------------

namespace
{

using controller_manager::ControllerManager;

struct Line
{
  long cycle;
  std::string command;
  std::vector<std::string> arguments;
};

std::vector<Line> read_script(const char * path)
{
  std::vector<Line> lines;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text); ) {
    std::istringstream words(text);
    Line line;
    if (words >> line.cycle >> line.command) {
      for (std::string word; words >> word; ) {
        line.arguments.push_back(word);
      }
      lines.push_back(line);
    }
  }
  return lines;
}

/// Names behind a + are started, names behind a - are stopped, together.
bool switch_controllers(ControllerManager & manager, const std::vector<std::string> & names)
{
  std::vector<std::string> start, stop;
  for (const auto & name : names) {
    (name[0] == '+' ? start : stop).push_back(name.substr(1));
  }
  return manager.switch_controller(
    start, stop, controller_manager_msgs::srv::SwitchController::Request::STRICT, true,
    rclcpp::Duration::from_seconds(5.0)) == controller_interface::return_type::OK;
}

std::string call(rclcpp::Node & client, rclcpp::Executor & executor, const std::string & name)
{
  const auto service = client.create_client<std_srvs::srv::Trigger>(name);
  if (!service->wait_for_service(std::chrono::seconds(5))) {
    return "no service " + name;
  }
  auto answer = service->async_send_request(std::make_shared<std_srvs::srv::Trigger::Request>());
  if (executor.spin_until_future_complete(answer, std::chrono::seconds(5)) !=
    rclcpp::FutureReturnCode::SUCCESS)
  {
    return "no answer of " + name;
  }
  const auto response = answer.get();
  return (response->success ? "ok " : "refused ") + response->message;
}

}  // namespace

int main(int count, char ** words)
{
  rclcpp::init(count, words);
  const auto arguments = rclcpp::remove_ros_arguments(count, words);
  std::ifstream file(arguments.at(1));
  const std::string urdf((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto script = read_script(arguments.at(2).c_str());
  steps = std::fopen(arguments.at(3).c_str(), "wb");
  const double rate = std::stod(arguments.at(4));
  const long cycles = std::stol(arguments.at(5));

  auto executor = std::make_shared<rclcpp::executors::MultiThreadedExecutor>(
    rclcpp::ExecutorOptions(), 2);
  auto manager = std::make_shared<ControllerManager>(
    executor, urdf, true, "controller_manager");
  executor->add_node(manager);
  std::thread spinner([&]() {executor->spin();});
  auto client = std::make_shared<rclcpp::Node>("script");
  rclcpp::executors::SingleThreadedExecutor client_executor;
  client_executor.add_node(client);

  rclcpp::Publisher<trajectory_msgs::msg::JointTrajectory>::SharedPtr trajectories;
  std::atomic<bool> ended{false};
  std::mutex handing;  // commands run beside the updates, which they wait for
  std::vector<Line> waiting;
  std::thread commands([&]() {
      while (!ended) {
        std::vector<Line> now;
        {
          const std::lock_guard<std::mutex> lock(handing);
          now.swap(waiting);
        }
        for (const auto & line : now) {
          std::string result = "ok";
          if (line.command == "load") {
            const auto & name = line.arguments.at(0);
            if (!manager->load_controller(name) ||
              manager->configure_controller(name) != controller_interface::return_type::OK)
            {
              result = "failed";
            }
          } else if (line.command == "switch") {
            result = switch_controllers(*manager, line.arguments) ? "ok" : "failed";
          } else if (line.command == "call") {
            result = call(*client, client_executor, line.arguments.at(0));
          } else if (line.command == "follow") {  // topic, s, then joints and positions
            trajectory_msgs::msg::JointTrajectory message;
            message.points.resize(1);
            message.points[0].time_from_start =
              rclcpp::Duration::from_seconds(std::stod(line.arguments.at(1)));
            for (std::size_t k = 2; k + 1 < line.arguments.size(); k += 2) {
              message.joint_names.push_back(line.arguments[k]);
              message.points[0].positions.push_back(std::stod(line.arguments[k + 1]));
            }
            trajectories = client->create_publisher<trajectory_msgs::msg::JointTrajectory>(
              line.arguments.at(0), rclcpp::QoS(1).reliable());
            for (int k = 0; k < 500 && trajectories->get_subscription_count() == 0; ++k) {
              std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
            trajectories->publish(message);
          } else if (line.command == "mode") {
            for (const auto & loaded : manager->get_loaded_controllers()) {
              if (loaded.info.name == line.arguments.at(0)) {
                const auto answer = loaded.c->get_node()->set_parameter(
                  rclcpp::Parameter("mode", line.arguments.at(1)));
                result = answer.successful ? "ok" : "refused " + answer.reason;
              }
            }
          } else if (line.command == "blind") {
            setenv("MUJOCO_SYSTEM_BLIND", line.arguments.at(0).c_str(), 1);
          } else if (line.command == "see") {
            unsetenv("MUJOCO_SYSTEM_BLIND");
          } else {
            result = "unknown command";
          }
          std::cout << line.cycle << " " << line.command << ": " << result << std::endl;
        }
        if (now.empty()) {
          std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
      }
    });

  std::vector<double> times;
  std::vector<long> allocated;  // in each update
  const auto period = rclcpp::Duration::from_seconds(1.0 / rate);
  rclcpp::Time time(100, 0, manager->get_clock()->get_clock_type());
  auto next = std::chrono::steady_clock::now();
  std::size_t line = 0;
  for (long cycle = 0; cycle < cycles; ++cycle) {
    {
      const std::lock_guard<std::mutex> lock(handing);
      while (line < script.size() && script[line].cycle <= cycle) {
        waiting.push_back(script[line++]);
      }
    }
    time += period;
    manager->read(time, period);
    const auto begin = std::chrono::steady_clock::now();
    const long before = allocations;
    watched = true;
    manager->update(time, period);
    watched = false;
    allocated.push_back(allocations - before);
    times.push_back(std::chrono::duration<double, std::micro>(
        std::chrono::steady_clock::now() - begin).count());
    manager->write(time, period);
    next += std::chrono::nanoseconds(period.nanoseconds());
    std::this_thread::sleep_until(next);
  }
  ended = true;
  commands.join();
  std::fclose(steps);
  steps = nullptr;
  std::sort(times.begin(), times.end());
  std::sort(allocated.begin(), allocated.end());
  std::cout << "update p50 " << times[times.size() / 2] << " us, p99 "
            << times[times.size() * 99 / 100] << " us, largest " << times.back()
            << " us; allocations p50 " << allocated[allocated.size() / 2] << ", p90 "
            << allocated[allocated.size() * 9 / 10] << std::endl;
  executor->cancel();
  spinner.join();
  rclcpp::shutdown();
  return 0;
}
