#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace accel {

// Threads that work ahead of the one who takes the results. Results come in the order in which
// their jobs were drawn, and an exception at the place of the result that it stands for. next() is
// for one thread.
template <typename Job, typename Result>
class ReadAhead {
 public:
  // The next job, or std::nullopt at the end. Called by the threads, by one at a time.
  using JobSource = std::function<std::optional<Job>()>;
  // Makes a job's result. Called by one thread only.
  using Work = std::function<Result(Job)>;

  // One thread for each of `works` (at least 1). `capacity` (at least 1): how many results at most
  // are drawn and not taken yet. `timeout`: how long next() waits for a result.
  ReadAhead(JobSource draw, std::vector<Work> works, std::size_t capacity,
            std::optional<std::chrono::milliseconds> timeout = std::nullopt)
      : draw_(std::move(draw)), timeout_(timeout), slots_(std::max<std::size_t>(capacity, 1)) {
    for (Work& work : works) {
      threads_.emplace_back([this, work = std::move(work)] { run(work); });
    }
  }

  // Returns once each thread has finished the job in its hands; no further one is drawn. One that
  // never finishes holds the caller for ever: a thread cannot be ended from outside. After a
  // timeout this is said on standard error.
  ~ReadAhead() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    space_.notify_all();
    if (late_) {
      std::cerr << "accel: a data loader's batch was not read within DataLoaderOptions::timeout ("
                << timeout_->count()
                << " ms): the loop ends once the read that is under way returns" << std::endl;
    }
    for (std::thread& thread : threads_) thread.join();
  }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The next result, or std::nullopt at the end. Throws what drawing or working on this one threw;
  // std::runtime_error if it is not there in time.
  std::optional<Result> next() {
    Slot slot;
    {
      std::unique_lock lock(mutex_);
      if (!wait_for_result(lock)) return std::nullopt;
      late_ = false;
      slot = std::exchange(slots_[taken_ % slots_.size()], {});
      ++taken_;
    }
    space_.notify_one();
    if (slot.error) std::rethrow_exception(slot.error);
    return std::move(slot.result);
  }

 private:
  struct Slot {
    bool ready = false;
    std::optional<Result> result;
    std::exception_ptr error;
  };

  // False at the end.
  bool wait_for_result(std::unique_lock<std::mutex>& lock) {
    const auto settled = [this] {
      return slots_[taken_ % slots_.size()].ready || (ended_ && taken_ == drawn_);
    };
    if (!timeout_) {
      ready_.wait(lock, settled);
    } else if (!ready_.wait_for(lock, *timeout_, settled)) {
      late_ = true;
      throw std::runtime_error("the data loader's next batch was not read within " +
                               std::to_string(timeout_->count()) + " ms");
    }
    return slots_[taken_ % slots_.size()].ready;
  }

  void run(const Work& work) {
    std::optional<Job> job;
    std::size_t number = 0;
    while (draw(job, number)) {
      Slot slot;
      slot.ready = true;
      try {
        slot.result = work(*std::exchange(job, std::nullopt));
      } catch (...) {
        slot.error = std::current_exception();
      }
      put(number, std::move(slot));
    }
  }

  // Waits until there is room for a result, and takes the next job and its number. False at the
  // end.
  bool draw(std::optional<Job>& job, std::size_t& number) {
    const std::lock_guard in_order(draw_mutex_);
    {
      std::unique_lock lock(mutex_);
      space_.wait(lock, [this] { return stopped_ || ended_ || drawn_ < taken_ + slots_.size(); });
      if (stopped_ || ended_) return false;
    }
    std::exception_ptr error;
    try {
      job = draw_();
    } catch (...) {
      error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      ended_ = error || !job;
      if (job || error) number = drawn_++;
    }
    if (error) put(number, Slot{true, std::nullopt, error});
    if (!job) ready_.notify_one();
    return job.has_value();
  }

  void put(std::size_t number, Slot slot) {
    bool is_next = false;
    {
      const std::lock_guard lock(mutex_);
      slots_[number % slots_.size()] = std::move(slot);
      is_next = number == taken_;
    }
    if (is_next) ready_.notify_one();
  }

  const JobSource draw_;
  const std::optional<std::chrono::milliseconds> timeout_;
  std::mutex draw_mutex_;  // Held around draw_; taken before mutex_.
  std::mutex mutex_;       // Guards what follows.
  std::condition_variable space_, ready_;
  std::vector<Slot> slots_;  // Result i is in slot i modulo their number.
  std::size_t drawn_ = 0, taken_ = 0;
  bool ended_ = false;    // Nothing more to draw.
  bool stopped_ = false;  // Nobody takes any more.
  bool late_ = false;     // The last result asked for was not there in time.
  std::vector<std::thread> threads_;
};

}  // namespace accel
