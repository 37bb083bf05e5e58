// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// What updates and slower threads hand each other, used by two threads at once: nothing is torn,
// lost unseen, or out of order. Run under ThreadSanitizer.

#include <array>
#include <cstdio>
#include <thread>

#include "rbd_controller/handover.hpp"

namespace
{

constexpr unsigned kItems = 50000;

using Item = std::array<unsigned, 8>;

Item item_of(unsigned number)
{
  Item item;
  item.fill(number);
  return item;
}

/// Whether all parts of an item are of one number.
bool is_whole(const Item & item) {return item == item_of(item[0]);}

int ring()
{
  rbd_controller::Ring<Item, 16> ring;
  std::size_t lost = 0;
  std::thread writer([&ring]() {
      for (unsigned k = 1; k <= kItems; ++k) {
        (void)ring.push(item_of(k));
      }
    });
  Item item{};
  unsigned last = 0, read = 0;
  bool good = true;
  while (read + lost < kItems) {
    while (ring.pop(item)) {
      good = good && is_whole(item) && item[0] > last;
      last = item[0];
      ++read;
    }
    lost += ring.lost();
  }
  writer.join();
  return good ? 0 : 1;
}

int mailbox()
{
  rbd_controller::Mailbox<Item> mailbox;
  std::thread writer([&mailbox]() {
      for (unsigned k = 1; k <= kItems; ++k) {
        mailbox.draft() = item_of(k);
        mailbox.send();
      }
    });
  unsigned last = 0;
  bool good = true;
  while (last < kItems) {
    if (mailbox.receive()) {
      const Item & item = mailbox.received();
      good = good && is_whole(item) && item[0] > last;
      last = item[0];
    }
  }
  writer.join();
  return good ? 0 : 2;
}

int places()
{
  rbd_controller::Places<2> places;
  std::array<Item, 2> items{};
  bool good[] = {true, true};
  const auto use = [&places, &items](bool & fine, unsigned first) {
      for (unsigned k = first; k < kItems; k += 2) {
        const int place = places.reserve();
        if (place >= 0) {
          Item & item = items[static_cast<std::size_t>(place)];
          item = item_of(k);
          fine = fine && is_whole(item) && item[0] == k;
          places.release(place);
        }
      }
    };
  std::thread other([&]() {use(good[0], 0);});
  use(good[1], 1);
  other.join();
  return good[0] && good[1] && places.reserve() == 0 && places.reserve() == 1 ? 0 : 4;
}

}  // namespace

int main()
{
  const int wrong = ring() + mailbox() + places();
  std::printf("%d\n", wrong);
  return wrong;
}
