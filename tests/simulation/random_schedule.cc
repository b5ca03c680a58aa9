// Which events happen, and how often.
#include <algorithm>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/simulation/schedule.h"

namespace accel::simulation {
namespace {

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}

  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  bool OneIn(int times) { return Below(times) == 0; }
  absl::Duration UpTo(absl::Duration longest) {
    return absl::Milliseconds(50) *
           Below(std::max(1, static_cast<int>(longest / absl::Milliseconds(50))));
  }
  std::string Time(absl::Duration longest) { return absl::FormatDuration(UpTo(longest)); }
  std::string Node() { return absl::StrCat("n", 1 + Below(3)); }

 private:
  std::mt19937 random_;
};

std::string Submit(int number, Dice* dice) {
  const bool cpu = !dice->OneIn(3);
  const int nodes = cpu ? 1 + dice->Below(3) : 1;
  std::string words =
      absl::StrCat("submit ", number, " nodes=", nodes, " processes=", 1 + dice->Below(2),
                   cpu ? " cpu" : "", " max_restarts=", dice->Below(4));
  if (nodes > 1 && dice->OneIn(3)) absl::StrAppend(&words, " min_nodes=1");
  if (dice->OneIn(4)) absl::StrAppend(&words, " hang_timeout=", 1 + dice->Below(4), "s");
  if (dice->OneIn(4)) absl::StrAppend(&words, " time_limit=", 5 + dice->Below(20), "s");
  if (dice->OneIn(3)) absl::StrAppend(&words, " stop_grace=", 1 + dice->Below(10), "s");
  if (dice->OneIn(3)) absl::StrAppend(&words, " failure_grace=", 1 + dice->Below(10), "s");
  if (dice->OneIn(4)) {
    absl::StrAppend(&words, " ends_with_agent");
  } else if (dice->OneIn(4)) {
    absl::StrAppend(&words, " stop_on_disconnect=", 5 + dice->Below(10), "s");
  }
  return words;
}

std::string Remains(Dice* dice) {
  static constexpr const char* kRemains[] = {"lost", "torn", "stored"};
  return kRemains[dice->Below(3)];
}

std::string Crash(Dice* dice) {
  return absl::StrCat(dice->OneIn(2) ? "crash " : "crash_at_commit ", Remains(dice), " ",
                      dice->Time(absl::Seconds(dice->OneIn(4) ? 40 : 4)),
                      dice->OneIn(5) ? " reboot" : "");
}

std::string Cut(Dice* dice) {
  static constexpr const char* kDirections[] = {" up", " down", " up down"};
  return absl::StrCat("cut ", dice->Node(), kDirections[dice->Below(3)]);
}

std::string KillAgent(Dice* dice) {
  static constexpr const char* kSteps[] = {"intent", "spawn", "record", "start"};
  const std::string step = kSteps[dice->Below(4)];
  const std::string away = dice->Time(absl::Seconds(12));
  if (dice->OneIn(2)) return absl::StrCat("kill_agent ", dice->Node(), " ", away);
  return absl::StrCat("kill_agent_in_start ", dice->Node(), " ", step, " ", away);
}

std::string Down(Dice* dice) {
  static constexpr const char* kWays[] = {"reboot ", "shut_down ", "lose_power "};
  return absl::StrCat(kWays[dice->Below(3)], dice->Node(), " ", dice->Time(absl::Seconds(20)));
}

std::string Disk(Dice* dice) {
  switch (dice->Below(4)) {
    case 0:
      return absl::StrCat("disk_full ", dice->Time(absl::Seconds(10)));
    case 1:
      return absl::StrCat("disk_fails ", Remains(dice));
    case 2:
      return absl::StrCat("node_disk_full ", dice->Node(), " ", dice->Time(absl::Seconds(10)));
    default:
      return absl::StrCat("node_disk_fails ", dice->Node(), " ", dice->Time(absl::Seconds(10)));
  }
}

std::string RandomEvent(int* jobs, Dice* dice) {
  const std::string job = absl::StrCat(1 + dice->Below(*jobs + 1));
  switch (dice->Below(22)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      return Submit(++*jobs, dice);
    case 6:
      return absl::StrCat("cancel ", job, dice->OneIn(2) ? " at_once" : "");
    case 7:
      return absl::StrCat("drop ", job);
    case 8:
      return KillAgent(dice);
    case 9:
      return absl::StrCat("pause_agent ", dice->Node(), " ", dice->Time(absl::Seconds(12)));
    case 10:
      return Down(dice);
    case 11:
    case 12:
      return absl::StrCat("break ", dice->Node(), " ", dice->Time(absl::Seconds(6)));
    case 13:
      if (dice->OneIn(2)) {
        return absl::StrCat("go_astray ", dice->Node(), " ", dice->Time(absl::Seconds(12)));
      }
      return Cut(dice);
    case 14:
      if (dice->OneIn(2)) return absl::StrCat("undrain ", dice->Node());
      return absl::StrCat("drain ", dice->Node(), dice->OneIn(2) ? " now" : "");
    case 15:
      if (dice->OneIn(4)) {
        return absl::StrCat("set_clock ", dice->Node(), dice->OneIn(2) ? " -" : " ",
                            dice->Time(absl::Hours(2)));
      }
      return absl::StrCat("join ", dice->Node());
    case 16:
    case 17:
      return Crash(dice);
    case 18:
      return absl::StrCat("kill_shim ", dice->Node(), " ", job);
    case 19:
      return absl::StrCat("pause_coordinator ", dice->Time(absl::Seconds(12)));
    default:
      return Disk(dice);
  }
}

}  // namespace

Schedule RandomSchedule(uint32_t seed, int events) {
  Dice dice(seed);
  Schedule schedule;
  schedule.seed = seed;
  int jobs = 0;
  absl::Duration at = absl::Seconds(2);
  for (int i = 0; i < events; ++i) {
    schedule.events.push_back({at, RandomEvent(&jobs, &dice)});
    // A long pause now and then shows how long a job waits for a node that is cut off.
    at += dice.UpTo(dice.OneIn(100) ? absl::Minutes(1) : absl::Milliseconds(1'500));
  }
  return schedule;
}

}  // namespace accel::simulation
