#include "runtime/data/epoch_loop.h"

#include "runtime/comm/progress_beat.h"

namespace accel::runtime {

void LoopSteps::start() {
  read();
  advance();
}

void LoopSteps::advance() {
  drop_current();
  if (!ahead_) return finish();
  take();
  progress_->step = *ahead_;
  read();
  progress_->step.end_of_dataloader = !ahead_ && !error_;
  // Entered last, because a constructor that throws would not leave the loop again.
  loops_->enter(&progress_->step);
  ProgressBeat::of_process().step();
}

void LoopSteps::read() {
  ahead_.reset();
  try {
    ahead_ = read_ahead();
  } catch (...) {
    error_ = std::current_exception();
  }
}

void LoopSteps::finish() {
  progress_->done = true;
  progress_->over = progress_->over || !error_;
  loops_->leave(&progress_->step);
  close();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace accel::runtime
