#include "runtime/checkpoint/whole_state.h"

#include <exception>
#include <stdexcept>
#include <utility>

namespace accel::runtime {

using torch::optim::Optimizer;

void WholeState::add_parameters(const std::string& file, const ShardedModel& model) {
  files_.push_back({file, WholeFile(whole_parameters(model))});
}

void WholeState::add_gradients(const std::string& file, const ShardedModel& model) {
  files_.push_back({file, WholeFile(whole_gradients(model))});
}

void WholeState::add_moments(Optimizer& optimizer, const ShardedModel& model) {
  for (SavedMoment& one : whole_moments(optimizer, model)) {
    archives_.back().moments.push_back(std::move(one));
  }
}

void WholeState::put_files(Snapshot& snapshot) {
  for (File& file : files_) {
    file.relay = snapshot.add_relayed(file.name, file.content.header, file.content.size);
  }
}

void WholeState::put_optimizer(std::size_t i, const std::string& file, Optimizer& optimizer,
                               const LeftOut& left_out, Snapshot& snapshot) {
  std::vector<RelayedMoment> relayed;
  for (const SavedMoment& one : archives_[i].moments) {
    relayed.push_back({one.moment, one.saved.shape});
  }
  archives_[i].relayed = snapshot.add_optimizer(file, optimizer, left_out, relayed);
}

// The archive has the order of the parameters' addresses on rank 0, so rank 0 broadcasts it.
void WholeState::give_archive(Archive& archive, const ProcessState& process) {
  std::vector<std::int64_t> order = archive.relayed.order;
  std::size_t count = 0;
  for (const SavedMoment& one : archive.moments) count += one.saved.nbytes() > 0 ? 1 : 0;
  if (count == 0) return;
  if (process.environment.rank != 0) {
    order.resize(count);
  } else if (order.size() != count) {
    throw std::logic_error("an archive has another number of moments than the ranks gather");
  }
  if (process.communicator != nullptr) order = process.communicator->broadcast_numbers(order);
  std::vector<SavedWhole> wholes;
  for (const std::int64_t place : order) {
    wholes.push_back(archive.moments[static_cast<std::size_t>(place)].saved);
  }
  RelayedTensors* const tensors = archive.relayed.tensors.get();
  give_wholes(wholes, process, tensors == nullptr ? nullptr : &tensors->relay());
}

void WholeState::give(const ProcessState& process) {
  try {
    for (File& file : files_) {
      give_wholes(file.content.tensors, process, file.relay.get());
      if (file.relay != nullptr) file.relay->end();
    }
    for (Archive& archive : archives_) {
      give_archive(archive, process);
      if (archive.relayed.tensors != nullptr) archive.relayed.tensors->relay().end();
    }
  } catch (...) {
    for (ByteRelay* const relay : relays()) relay->fail(std::current_exception());
    drop_tensors();
    throw;
  }
  drop_tensors();
}

// Drops the tensors, because the thread that writes keeps this object until the next save. That
// thread may be in close() meanwhile, which does not use the tensors.
void WholeState::drop_tensors() {
  for (File& file : files_) file.content.tensors.clear();
  for (Archive& archive : archives_) archive.moments.clear();
}

void WholeState::close() {
  for (ByteRelay* const relay : relays()) relay->close();
  for (const Archive& archive : archives_) {
    if (archive.relayed.tensors != nullptr) archive.relayed.tensors->free_memory();
  }
}

std::vector<ByteRelay*> WholeState::relays() const {
  std::vector<ByteRelay*> all;
  for (const File& file : files_) {
    if (file.relay != nullptr) all.push_back(file.relay.get());
  }
  for (const Archive& archive : archives_) {
    if (archive.relayed.tensors != nullptr) all.push_back(&archive.relayed.tensors->relay());
  }
  return all;
}

}  // namespace accel::runtime
