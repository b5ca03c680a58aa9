// Threads that read ahead of a data loader's loop.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace accel::runtime {

// The part of ReadAhead that does not depend on the types of jobs and results.
//
// Results come in the order of their jobs, though the threads finish in any order. The threads take
// jobs one after the other, under a lock, and each job gets the next number. The result of job i
// goes into slot i modulo the number of slots. next() waits for the slot of the result that is due.
// A thread takes a job only when there is a free slot for its result. This bounds how far the
// threads run ahead.
class OrderedWorkers {
 public:
  // A job or a result; null stands for the end.
  using Item = std::shared_ptr<void>;
  using JobSource = std::function<Item()>;
  using Work = std::function<Item(Item)>;

  OrderedWorkers(JobSource source, std::vector<Work> works, std::size_t capacity,
                 std::optional<std::chrono::milliseconds> timeout);
  ~OrderedWorkers();
  OrderedWorkers(const OrderedWorkers&) = delete;
  OrderedWorkers& operator=(const OrderedWorkers&) = delete;

  Item next();

 private:
  struct Slot {
    bool ready = false;
    Item result = nullptr;
    std::exception_ptr error = nullptr;
  };

  // Returns false at the end.
  bool wait_for_result(std::unique_lock<std::mutex>& lock);
  void run(const Work& work);
  // Waits for a free slot, and takes the next job and its number. Returns false at the end.
  bool take_job(Item& job, std::size_t& number);
  void put(std::size_t number, Slot slot);

  const JobSource source_;
  const std::optional<std::chrono::milliseconds> timeout_;
  std::mutex source_mutex_;  // Held around source_. Taken before mutex_.
  std::mutex mutex_;         // Guards the members below.
  std::condition_variable space_, ready_;
  std::vector<Slot> slots_;
  std::size_t jobs_ = 0;     // Jobs that were taken from the source.
  std::size_t results_ = 0;  // Results that next() has returned.
  bool ended_ = false;       // The source has no more jobs.
  bool stopped_ = false;     // The destructor runs.
  bool late_ = false;        // The last call of next() timed out.
  std::vector<std::thread> threads_;
};

// Threads that make results ahead of the caller, who takes them in the order of their jobs.
// If a job throws, next() throws the exception in place of its result. Only one thread may
// call next() (docs/decisions/0019).
//
// The destructor takes no further job, and returns once each thread has finished its job. A job
// that never ends blocks the caller forever, because a thread cannot be ended from outside. The
// destructor logs this to standard error if the last next() has timed out.
template <typename Job, typename Result>
class ReadAhead {
 public:
  // Returns the next job, or std::nullopt at the end. The threads call it, one at a time.
  using JobSource = std::function<std::optional<Job>()>;
  // Makes the result of a job. Each function is called by one thread.
  using Work = std::function<Result(Job)>;

  // Starts one thread for each of `works` (at least 1). At most `capacity` jobs (at least 1) are
  // taken whose results next() has not returned. `timeout` limits how long next() waits for a
  // result. By default there is no limit.
  ReadAhead(JobSource source, std::vector<Work> works, std::size_t capacity,
            std::optional<std::chrono::milliseconds> timeout = std::nullopt)
      : workers_(erased(std::move(source)), erased(std::move(works)), capacity, timeout) {}

  // Returns the next result, or std::nullopt at the end. Throws what the source or the work on this
  // job threw. Throws std::runtime_error after the timeout, and the next call then waits again.
  std::optional<Result> next() {
    const OrderedWorkers::Item result = workers_.next();
    if (result == nullptr) return std::nullopt;
    return std::move(*static_cast<Result*>(result.get()));
  }

 private:
  static OrderedWorkers::JobSource erased(JobSource source) {
    return [source = std::move(source)]() -> OrderedWorkers::Item {
      std::optional<Job> job = source();
      return job ? std::make_shared<Job>(*std::move(job)) : nullptr;
    };
  }
  static std::vector<OrderedWorkers::Work> erased(std::vector<Work> works) {
    std::vector<OrderedWorkers::Work> all;
    for (Work& work : works) {
      all.push_back([work = std::move(work)](OrderedWorkers::Item job) -> OrderedWorkers::Item {
        return std::make_shared<Result>(work(std::move(*static_cast<Job*>(job.get()))));
      });
    }
    return all;
  }

  OrderedWorkers workers_;
};

}  // namespace accel::runtime
