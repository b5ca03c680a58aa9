#include "runtime/data/read_ahead.h"

#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <string>

namespace accel::runtime {

OrderedWorkers::OrderedWorkers(JobSource source, std::vector<Work> works, std::size_t capacity,
                               std::optional<std::chrono::milliseconds> timeout)
    : source_(std::move(source)), timeout_(timeout), slots_(std::max<std::size_t>(capacity, 1)) {
  for (Work& work : works) {
    threads_.emplace_back([this, work = std::move(work)] { run(work); });
  }
}

OrderedWorkers::~OrderedWorkers() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  space_.notify_all();
  if (late_) {
    std::cerr << "accel: a data loader's batch was not read within DataLoaderOptions::timeout ("
              << timeout_->count() << " ms): the loop ends once the read that is under way returns"
              << std::endl;
  }
  for (std::thread& thread : threads_) thread.join();
}

OrderedWorkers::Item OrderedWorkers::next() {
  Slot slot;
  {
    std::unique_lock lock(mutex_);
    if (!wait_for_result(lock)) return nullptr;
    late_ = false;
    slot = std::exchange(slots_[results_ % slots_.size()], {});
    ++results_;
  }
  space_.notify_one();
  if (slot.error) std::rethrow_exception(slot.error);
  return slot.result;
}

bool OrderedWorkers::wait_for_result(std::unique_lock<std::mutex>& lock) {
  const auto settled = [this] {
    return slots_[results_ % slots_.size()].ready || (ended_ && results_ == jobs_);
  };
  if (!timeout_) {
    ready_.wait(lock, settled);
  } else if (!ready_.wait_for(lock, *timeout_, settled)) {
    late_ = true;
    throw std::runtime_error("the data loader's next batch was not read within " +
                             std::to_string(timeout_->count()) + " ms");
  }
  return slots_[results_ % slots_.size()].ready;
}

void OrderedWorkers::run(const Work& work) {
  Item job;
  std::size_t number = 0;
  while (take_job(job, number)) {
    Slot slot;
    slot.ready = true;
    try {
      slot.result = work(std::exchange(job, nullptr));
    } catch (...) {
      slot.error = std::current_exception();
    }
    put(number, std::move(slot));
  }
}

bool OrderedWorkers::take_job(Item& job, std::size_t& number) {
  const std::lock_guard in_order(source_mutex_);
  {
    std::unique_lock lock(mutex_);
    space_.wait(lock, [this] { return stopped_ || ended_ || jobs_ < results_ + slots_.size(); });
    if (stopped_ || ended_) return false;
  }
  std::exception_ptr error;
  try {
    job = source_();
  } catch (...) {
    error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    ended_ = job == nullptr;
    if (job != nullptr || error) number = jobs_++;
  }
  // An exception of the source is delivered as the last result.
  if (error) put(number, Slot{.ready = true, .error = error});
  if (job == nullptr) ready_.notify_one();
  return job != nullptr;
}

void OrderedWorkers::put(std::size_t number, Slot slot) {
  bool is_due = false;
  {
    const std::lock_guard lock(mutex_);
    slots_[number % slots_.size()] = std::move(slot);
    is_due = number == results_;
  }
  if (is_due) ready_.notify_one();
}

}  // namespace accel::runtime
