// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// A controller manager in one process, driven by a script.
//
//   manager URDF SCRIPT FOLDER RATE CYCLES PACE --ros-args --params-file FILE
//
// Lines of the script: "WHEN COMMAND ARGUMENTS", one after the other. WHEN is a cycle, or +N: that
// many cycles after the command before. The commands are in `Script::run`.
//
// PACE is how time passes. "real": by the clock. "hurry": as fast as it goes, and the controllers
// see a clock of their own, which advances by a period in each cycle; while a command runs, which
// other threads carry out, cycles last as long as they say. "quiet": by the clock, and nothing is
// written while it runs.
//
// FOLDER gets "steps", for each call of the step its event, 1 and the parameters or, where they are
// those of the call before, 0, and its result; "trace", for each cycle the state of the supervisor,
// the mode, and whether the controller was updated; "times", how long each update took and how late
// it began, in s, and how many periods were missed until then. The thread of the updates writes
// "steps": with all parameters, a busy disk stopped it for longer than a state may be old.
// At the end it says how often updates of controllers that can be chained have allocated.

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <limits>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "controller_manager/controller_manager.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_srvs/srv/set_bool.hpp"
#include "std_srvs/srv/trigger.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

#include "messages.hpp"
#include "step_watch.h"

// -- what is seen from outside ---------------------------------------------------------------------

namespace
{
thread_local bool watched = false;
std::atomic<long> allocations{0};
thread_local std::chrono::nanoseconds own_time{-1};  // of this thread; negative: the real one
double update_time = 0.0;  // s, of the controllers that can be chained, in this cycle
double step_state = 0.0, step_mode = 0.0;  // as the last step left them
double supervisor_state = 0.0, mode = 0.0;  // as the last update left them
std::FILE * steps = nullptr;
std::vector<char> parameters_before;  // as they were written last
std::atomic<int> awaited_kind{-1};  // of a step
std::function<void()> in_that_step;  // is called before it

std::chrono::nanoseconds real_time()
{
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}
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

// The definition of the program comes before that of the library.
std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept
{
  return time_point(own_time.count() < 0 ? real_time() : own_time);
}

// Likewise: every update of a controller that can be chained comes by here.
controller_interface::return_type controller_interface::ChainableControllerInterface::update(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  using Update = return_type (*)(
    ChainableControllerInterface *, const rclcpp::Time &, const rclcpp::Duration &);
  static const auto update = reinterpret_cast<Update>(dlsym(
      RTLD_NEXT, "_ZN20controller_interface28ChainableControllerInterface6updateERKN6rclcpp4Time"
      "ERKNS1_8DurationE"));
  const auto begin = real_time();
  watched = true;
  const auto result = update(this, time, period);
  watched = false;
  supervisor_state = step_state;
  mode = step_mode;
  update_time += std::chrono::duration<double>(real_time() - begin).count();
  return result;
}

void before_step(const void * u, std::size_t u_size, const void * p, std::size_t p_size)
{
  const bool before = std::exchange(watched, false);
  int kind = static_cast<int>(*static_cast<const double *>(u));  // the first number of an event
  if (awaited_kind.compare_exchange_strong(kind, -1)) {
    in_that_step();
  }
  if (steps != nullptr) {
    const auto * parameters = static_cast<const char *>(p);
    const double changed = !std::equal(
      parameters_before.begin(), parameters_before.end(), parameters, parameters + p_size);
    std::fwrite(u, u_size, 1, steps);
    std::fwrite(&changed, sizeof(changed), 1, steps);
    if (changed != 0.0) {
      std::fwrite(p, p_size, 1, steps);
      parameters_before.assign(parameters, parameters + p_size);
    }
  }
  watched = before;
}

void after_step(const void * y, std::size_t y_size, double state, double place)
{
  step_state = state;
  step_mode = place;
  if (steps != nullptr) {
    const bool before = std::exchange(watched, false);
    std::fwrite(y, y_size, 1, steps);
    watched = before;
  }
}

// -- the sensors -----------------------------------------------------------------------------------

namespace
{
std::mutex disturbing;
std::map<std::string, double> disturbances;  // by name of the interface
}  // namespace

/// What the sensor of an interface shows instead of the truth; the hardware asks for it.
extern "C" double disturbed(const char * interface, double truth)
{
  const std::lock_guard<std::mutex> lock(disturbing);
  const auto found = disturbances.find(interface);
  return found == disturbances.end() ? truth : found->second;
}

// -- the script ------------------------------------------------------------------------------------

namespace
{

using controller_manager::ControllerManager;
using Words = std::vector<std::string>;

struct Line
{
  std::string when;
  std::string command;
  Words arguments;
};

std::vector<Line> read_script(const char * path)
{
  std::vector<Line> lines;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text); ) {
    std::istringstream words(text);
    Line line;
    if (words >> line.when >> line.command) {
      for (std::string word; words >> word; ) {
        line.arguments.push_back(word);
      }
      lines.push_back(line);
    }
  }
  return lines;
}

/// What the thread of the updates and that of the script say to each other.
struct Progress
{
  std::atomic<long> cycle{0};    // that has begun
  std::atomic<long> free{0};     // cycle up to which nothing is waited for
  std::atomic<int> wanted{-1};   // state at which to wait before that
  std::atomic<bool> ended{false};
};

class Script
{
public:
  Script(std::shared_ptr<ControllerManager> manager, Progress & progress)
  : manager_(manager), progress_(progress), client_(std::make_shared<rclcpp::Node>("script"))
  {
    executor_.add_node(client_);
    for (const auto & each : messages_.commands()) {
      commands_.insert(each);
    }
  }

  void run(const std::vector<Line> & lines, long cycles)
  {
    for (const auto & line : lines) {
      wait_for_cycle(
        std::stol(line.when) + (line.when[0] == '+' ? progress_.cycle.load() : 0L));
      const auto found = commands_.find(line.command);
      const long begun = progress_.cycle;
      const std::string result =
        found == commands_.end() ? "unknown command" : found->second(line.arguments);
      std::cout << begun << " " << progress_.cycle << " " << line.command << ": " << result
                << std::endl;
    }
    wait_for_cycle(cycles);
    progress_.ended = true;
  }

private:
  void wait_for_cycle(long cycle)
  {
    progress_.free = cycle;
    while (progress_.cycle < progress_.free) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  std::string load(const Words & words)
  {
    const auto & name = words.at(0);
    return manager_->load_controller(name) &&
           manager_->configure_controller(name) == controller_interface::return_type::OK ?
           "ok" : "failed";
  }

  /// Names behind a + are started, names behind a - are stopped, together.
  std::string switch_controllers(const Words & names)
  {
    Words start, stop;
    for (const auto & name : names) {
      (name[0] == '+' ? start : stop).push_back(name.substr(1));
    }
    return manager_->switch_controller(
      start, stop, controller_manager_msgs::srv::SwitchController::Request::STRICT, true,
      rclcpp::Duration::from_seconds(5.0)) == controller_interface::return_type::OK ?
           "ok" : "failed";
  }

  std::string call(const Words & words)
  {
    return ask<std_srvs::srv::Trigger>(
      words.at(0), services_, std::make_shared<std_srvs::srv::Trigger::Request>());
  }

  /// Service, then 1 or 0.
  std::string pause(const Words & words)
  {
    auto request = std::make_shared<std_srvs::srv::SetBool::Request>();
    request->data = words.at(1) == "1";
    return ask<std_srvs::srv::SetBool>(words.at(0), switches_, request);
  }

  template<class Service>
  std::string ask(
    const std::string & name,
    std::map<std::string, typename rclcpp::Client<Service>::SharedPtr> & services,
    const typename Service::Request::SharedPtr & request)
  {
    auto & service = services[name];
    if (!service) {
      service = client_->create_client<Service>(name);
    }
    if (!service->wait_for_service(std::chrono::seconds(5))) {
      return "no service " + name;
    }
    auto answer = service->async_send_request(request);
    if (executor_.spin_until_future_complete(answer, std::chrono::seconds(5)) !=
      rclcpp::FutureReturnCode::SUCCESS)
    {
      return "no answer of " + name;
    }
    const auto response = answer.get();
    return (response->success ? "ok " : "refused ") + response->message;
  }

  /// Topic, s, then joints and positions. Others follow by the clock of their node: wait so long.
  std::string follow(const Words & words)
  {
    trajectory_msgs::msg::JointTrajectory message;
    message.points.resize(1);
    message.points[0].time_from_start = rclcpp::Duration::from_seconds(std::stod(words.at(1)));
    for (std::size_t k = 2; k + 1 < words.size(); k += 2) {
      message.joint_names.push_back(words[k]);
      message.points[0].positions.push_back(std::stod(words[k + 1]));
    }
    auto & topic = trajectories_[words.at(0)];
    if (!topic) {
      topic = client_->create_publisher<trajectory_msgs::msg::JointTrajectory>(
        words.at(0), rclcpp::QoS(1).reliable());
    }
    for (int k = 0; k < 500 && topic->get_subscription_count() == 0; ++k) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    topic->publish(message);
    const bool taken = topic->wait_for_all_acked(std::chrono::seconds(20)) &&
      messages_.is_served(words.at(0));
    std::this_thread::sleep_for(std::chrono::duration<double>(std::stod(words.at(1))));
    return taken ? "ok" : "not taken";
  }

  /// Controller, mode.
  std::string set_mode(const Words & words)
  {
    return set(words.at(0), rclcpp::Parameter("mode", words.at(1)));
  }

  /// Controller, parameter, number; more of them, or a comma after one, are a list.
  std::string set_numbers(const Words & words)
  {
    std::vector<double> numbers;
    for (std::size_t k = 2; k < words.size(); ++k) {
      numbers.push_back(std::stod(words[k]));
    }
    const bool list = numbers.size() != 1 || words[2].back() == ',';
    return set(
      words.at(0), list ? rclcpp::Parameter(words.at(1), numbers) :
      rclcpp::Parameter(words.at(1), numbers[0]));
  }

  /// Controller, parameter, true or false.
  std::string set_flag(const Words & words)
  {
    return set(words.at(0), rclcpp::Parameter(words.at(1), words.at(2) == "true"));
  }

  /// Controller, parameter.
  std::string get(const Words & words)
  {
    for (const auto & loaded : manager_->get_loaded_controllers()) {
      if (loaded.info.name == words.at(0)) {
        return loaded.c->get_node()->get_parameter(words.at(1)).value_to_string();
      }
    }
    return "no controller " + words.at(0);
  }

  std::string set(const std::string & controller, const rclcpp::Parameter & parameter)
  {
    for (const auto & loaded : manager_->get_loaded_controllers()) {
      if (loaded.info.name == controller) {
        const auto answer = loaded.c->get_node()->set_parameter(parameter);
        return answer.successful ? "ok" : "refused " + answer.reason;
      }
    }
    return "no controller " + controller;
  }

  /// A joint whose sensors show nothing.
  std::string blind(const Words & words)
  {
    for (const char * kind : {"/position", "/velocity", "/effort"}) {
      disturb({words.at(0) + kind, "nan"});
    }
    return "ok";
  }

  /// An interface and what it shows.
  std::string disturb(const Words & words)
  {
    const std::lock_guard<std::mutex> lock(disturbing);
    disturbances[words.at(0)] = std::strtod(words.at(1).c_str(), nullptr);
    return "ok";
  }

  std::string see(const Words &)
  {
    const std::lock_guard<std::mutex> lock(disturbing);
    disturbances.clear();
    return "ok";
  }

  /// A state of the supervisor, and how many cycles to wait for it.
  std::string until(const Words & words)
  {
    progress_.wanted = std::stoi(words.at(0));
    wait_for_cycle(progress_.cycle + std::stol(words.at(1)));
    return progress_.wanted.exchange(-1) < 0 ? "ok" : "another state";
  }

  /// A kind of events, ms, a command: it is carried out while the next step of that kind waits for
  /// it, no longer than that.
  std::string amid(const Words & words)
  {
    in_that_step = [this, words]() {
        aside_ = std::async(std::launch::async, [this, words]() {
              return commands_.at(words.at(2))(Words(words.begin() + 3, words.end()));
            });
        (void)aside_.wait_for(std::chrono::milliseconds(std::stol(words.at(1))));
      };
    awaited_kind = std::stoi(words.at(0));
    return "ok";
  }

  /// ms of real time, in which other threads come to work.
  std::string rest(const Words & words)
  {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::stol(words.at(0))));
    return "ok";
  }

  /// A file that somebody else writes, and s to wait for it.
  std::string wait_for_file(const Words & words)
  {
    for (int k = 0; k < 50 * std::stoi(words.at(1)); ++k) {
      if (std::ifstream(words.at(0))) {
        return "ok";
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return "no file";
  }

  /// What that command was answered.
  std::string answer(const Words &) {return aside_.valid() ? aside_.get() : "no such step came";}

  std::shared_ptr<ControllerManager> manager_;
  Progress & progress_;
  std::shared_ptr<rclcpp::Node> client_;
  rclcpp::executors::SingleThreadedExecutor executor_;
  std::map<std::string, rclcpp::Client<std_srvs::srv::Trigger>::SharedPtr> services_;
  std::map<std::string, rclcpp::Client<std_srvs::srv::SetBool>::SharedPtr> switches_;
  std::map<std::string, rclcpp::Publisher<trajectory_msgs::msg::JointTrajectory>::SharedPtr>
  trajectories_;
  Messages messages_{client_, executor_};
  std::future<std::string> aside_;
  std::map<std::string, std::function<std::string(const Words &)>> commands_{
    {"load", [this](const Words & words) {return load(words);}},
    {"switch", [this](const Words & words) {return switch_controllers(words);}},
    {"call", [this](const Words & words) {return call(words);}},
    {"pause", [this](const Words & words) {return pause(words);}},
    {"follow", [this](const Words & words) {return follow(words);}},
    {"mode", [this](const Words & words) {return set_mode(words);}},
    {"get", [this](const Words & words) {return get(words);}},
    {"set", [this](const Words & words) {return set_numbers(words);}},
    {"flag", [this](const Words & words) {return set_flag(words);}},
    {"blind", [this](const Words & words) {return blind(words);}},
    {"disturb", [this](const Words & words) {return disturb(words);}},
    {"see", [this](const Words & words) {return see(words);}},
    {"until", [this](const Words & words) {return until(words);}},
    {"rest", [this](const Words & words) {return rest(words);}},
    {"file", [this](const Words & words) {return wait_for_file(words);}},
    {"amid", [this](const Words & words) {return amid(words);}},
    {"answer", [this](const Words & words) {return answer(words);}},
  };
};

// -- the loop --------------------------------------------------------------------------------------

struct Record
{
  std::vector<double> trace;
  std::vector<double> times;
  long missed = 0;
};

Record run_loop(
  ControllerManager & manager, Progress & progress, double rate, bool hurry, bool quiet)
{
  Record record;
  const auto period = rclcpp::Duration::from_seconds(1.0 / rate);
  const std::chrono::nanoseconds step(period.nanoseconds());
  rclcpp::Time time(100, 0, manager.get_clock()->get_clock_type());
  auto next = real_time();
  if (hurry) {
    own_time = next;
  }
  while (!progress.ended) {
    ++progress.cycle;
    time += period;
    update_time = 0.0;
    const auto late = real_time() - next;
    manager.read(time, period);
    manager.update(time, period);
    manager.write(time, period);
    record.times.insert(
      record.times.end(), {
        update_time, std::chrono::duration<double>(late).count(),
        static_cast<double>(record.missed)});
    if (!quiet) {
      record.trace.insert(
        record.trace.end(), {supervisor_state, mode, update_time > 0.0 ? 1.0 : 0.0});
    }
    if (progress.wanted >= 0 && progress.wanted == static_cast<int>(supervisor_state)) {
      progress.wanted = -1;
      progress.free = progress.cycle.load();
    }
    if (hurry) {
      own_time += step;
    }
    if (hurry && progress.cycle < progress.free) {
      continue;
    }
    const auto now = real_time();
    next = hurry ? now + step : next + step;
    while (next < now) {
      next += step;
      ++record.missed;
    }
    const timespec until{next.count() / 1000000000, next.count() % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
  return record;
}

/// Ask for what a loop in real time needs, and say what was refused.
void become_urgent()
{
  sched_param priority{};
  priority.sched_priority = 50;
  const bool urgent = pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) == 0;
  const bool locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
  std::cout << "priority " << (urgent ? 50 : 0) << ", memory "
            << (locked ? "locked" : "not locked") << std::endl;
}

void save(const std::string & path, const std::vector<double> & numbers)
{
  std::ofstream(path, std::ios::binary).write(
    reinterpret_cast<const char *>(numbers.data()),
    static_cast<std::streamsize>(numbers.size() * sizeof(double)));
}

}  // namespace

int main(int count, char ** words)
{
  rclcpp::init(count, words);
  const auto arguments = rclcpp::remove_ros_arguments(count, words);
  std::ifstream file(arguments.at(1));
  const std::string urdf((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto lines = read_script(arguments.at(2).c_str());
  const std::string folder = arguments.at(3);
  const double rate = std::stod(arguments.at(4));
  const long cycles = std::stol(arguments.at(5));
  const bool hurry = arguments.at(6) == "hurry", quiet = arguments.at(6) == "quiet";
  steps = quiet ? nullptr : std::fopen((folder + "/steps").c_str(), "wb");

  auto executor = std::make_shared<rclcpp::executors::MultiThreadedExecutor>(
    rclcpp::ExecutorOptions(), 2);
  auto manager = std::make_shared<ControllerManager>(
    executor, urdf, true, "controller_manager");
  executor->add_node(manager);
  std::thread spinner([&]() {executor->spin();});
  Progress progress;
  Script script(manager, progress);
  std::thread commands([&]() {script.run(lines, cycles);});
  Record record;
  std::thread loop([&]() {
      if (quiet) {
        become_urgent();
      }
      record = run_loop(*manager, progress, rate, hurry, quiet);
    });
  loop.join();
  commands.join();
  if (steps != nullptr) {
    std::fclose(std::exchange(steps, nullptr));
  }
  save(folder + "/trace", record.trace);
  save(folder + "/times", record.times);
  std::cout << "updates allocated " << allocations << " times" << std::endl;
  executor->cancel();
  spinner.join();
  rclcpp::shutdown();
  return 0;
}
