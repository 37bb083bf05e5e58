// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#ifndef RBD_CONTROLLER__HANDOVER_HPP_
#define RBD_CONTROLLER__HANDOVER_HPP_

#include <array>
#include <atomic>
#include <cstddef>

namespace rbd_controller
{

/// A queue of fixed size between one thread that writes and one that reads; nobody waits.
template<typename Item, std::size_t size>
class Ring
{
public:
  /// All items begin like this one: what has room for an item takes no more when it is pushed.
  explicit Ring(const Item & first = {}) {items_.fill(first);}

  /// Put an item at the end; false: the queue is full, and the item is lost and counted.
  bool push(const Item & item)
  {
    const std::size_t end = end_.load(std::memory_order_relaxed);
    if (end - begin_.load(std::memory_order_acquire) == size) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    items_[end % size] = item;
    end_.store(end + 1, std::memory_order_release);
    return true;
  }

  /// Take the first item; false: there is none.
  bool pop(Item & item)
  {
    const std::size_t begin = begin_.load(std::memory_order_relaxed);
    if (begin == end_.load(std::memory_order_acquire)) {
      return false;
    }
    item = items_[begin % size];
    begin_.store(begin + 1, std::memory_order_release);
    return true;
  }

  /// Items that were lost since this was asked last.
  std::size_t lost() {return lost_.exchange(0, std::memory_order_relaxed);}

private:
  std::array<Item, size> items_{};
  std::atomic<std::size_t> begin_{0}, end_{0}, lost_{0};
};

/// The newest of what one thread writes, for one other thread to read, whole; nobody waits.
template<typename Item>
class Mailbox
{
public:
  explicit Mailbox(const Item & first = {}) {items_.fill(first);}

  /// What the writer fills before it sends it; it may hold anything.
  Item & draft() {return items_[back_];}

  void send() {back_ = middle_.exchange(back_ | kNew, std::memory_order_acq_rel) & kPlace;}

  /// Take what was sent last; false: nothing since the last time.
  bool receive()
  {
    if ((middle_.load(std::memory_order_relaxed) & kNew) == 0U) {
      return false;
    }
    front_ = middle_.exchange(front_, std::memory_order_acq_rel) & kPlace;
    return true;
  }

  /// What was received last.
  const Item & received() const {return items_[front_];}

private:
  static constexpr unsigned kPlace = 3, kNew = 4;
  std::array<Item, 3> items_{};
  unsigned back_ = 0, front_ = 2;  // places of the writer and of the reader
  std::atomic<unsigned> middle_{1};
};

/// Which of a few places are taken; what is in them belongs to who has taken them.
template<std::size_t count>
class Places
{
public:
  /// Return a place that nobody uses; -1: there is none.
  int reserve()
  {
    for (std::size_t k = 0; k < count; ++k) {
      if (!taken_[k].exchange(true, std::memory_order_acquire)) {
        return static_cast<int>(k);
      }
    }
    return -1;
  }

  void release(int place)
  {
    if (place >= 0) {
      taken_[static_cast<std::size_t>(place)].store(false, std::memory_order_release);
    }
  }

private:
  std::array<std::atomic<bool>, count> taken_{};
};

}  // namespace rbd_controller

#endif  // RBD_CONTROLLER__HANDOVER_HPP_
