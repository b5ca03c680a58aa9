#include "runtime/checkpoint/snapshot.h"

#include <ATen/Parallel.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <typeinfo>
#include <utility>

#include "runtime/checkpoint/optimizer_moments.h"
#include "runtime/optim/optimizer_class.h"

namespace accel::runtime {
namespace {

namespace optim = torch::optim;
using torch::serialize::OutputArchive;

constexpr std::size_t kAlignment = 64;  // A cache line.
constexpr std::int64_t kCopyGrain = 8 << 20;

std::size_t aligned(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

std::size_t bytes_in(const torch::Tensor& tensor) { return tensor.defined() ? tensor.nbytes() : 0; }

// Returns the files of one rank's parts, whose values are copies.
std::vector<CheckpointFile> files_of(const std::string& folder, int rank,
                                     const std::vector<TensorPart>& parts) {
  std::vector<weights::ShardPiece> pieces;
  for (const TensorPart& part : parts) pieces.push_back(part.piece);
  std::vector<CheckpointFile> files;
  for (weights::ShardFile& shard : weights::shard_files(pieces, rank)) {
    std::vector<torch::Tensor> values;
    for (const std::size_t i : shard.pieces) values.push_back(parts[i].values);
    files.push_back({folder + "/" + shard.name, shard.size,
                     [header = std::move(shard.header), values](const ByteSink& sink) {
                       sink(header);
                       for (const torch::Tensor& one : values) {
                         sink({static_cast<const char*>(one.const_data_ptr()), one.nbytes()});
                       }
                     }});
  }
  return files;
}

// Returns the defined tensors in the state of all parameters, or nullopt if the optimizer must
// write its archive itself.
std::optional<std::vector<torch::Tensor*>> tensors_of(optim::Optimizer& optimizer) {
  if (!has_known_state(optimizer)) return std::nullopt;
  std::vector<torch::Tensor*> all;
  for (auto& [parameter, state] : optimizer.state()) {
    const auto tensors = moments_of(*state);
    if (!tensors) return std::nullopt;
    std::copy_if(tensors->begin(), tensors->end(), std::back_inserter(all),
                 [](const torch::Tensor* tensor) { return tensor->defined(); });
  }
  return all;
}

// Passes the bytes of the archive to `sink`. An exception of the sink is kept until LibTorch's
// writer is done: the destructor of the writer would throw a second one, which ends the process.
void write_archive(OutputArchive& archive, const ByteSink& sink) {
  std::exception_ptr error;
  archive.save_to([&](const void* data, std::size_t size) {
    try {
      if (!error) sink({static_cast<const char*>(data), size});
    } catch (...) {
      error = std::current_exception();
    }
    return size;
  });
  if (error) std::rethrow_exception(error);
}

// One copy of contiguous memory.
struct MemoryCopy {
  char* to;
  const char* from;
  std::size_t begin;  // Offset of this copy in the bytes of all copies.
  std::size_t size;
};

// Makes all copies in as many threads as LibTorch uses. Each thread gets an equal stretch of all
// their bytes, whatever the sizes of the tensors.
void carry_out(const std::vector<MemoryCopy>& copies) {
  if (copies.empty()) return;
  const auto total = static_cast<std::int64_t>(copies.back().begin + copies.back().size);
  at::parallel_for(0, total, kCopyGrain, [&](std::int64_t first, std::int64_t last) {
    const auto begin = static_cast<std::size_t>(first), end = static_cast<std::size_t>(last);
    auto copy = std::partition_point(copies.begin(), copies.end(), [&](const MemoryCopy& each) {
      return each.begin + each.size <= begin;
    });
    for (; copy != copies.end() && copy->begin < end; ++copy) {
      const std::size_t from = std::max(begin, copy->begin) - copy->begin;
      const std::size_t to = std::min(end - copy->begin, copy->size);
      std::memcpy(copy->to + from, copy->from + from, to - from);
    }
  });
}

}  // namespace

std::size_t expected_bytes(optim::Optimizer& optimizer,
                           const std::function<std::size_t(const torch::Tensor&)>& bytes_of) {
  const auto tensors = tensors_of(optimizer);
  if (!tensors) return 0;
  std::size_t moments = 0;
  for (const auto& group : optimizer.param_groups()) {
    const bool has_moments = dynamic_cast<const optim::AdamOptions*>(&group.options()) != nullptr ||
                             dynamic_cast<const optim::AdamWOptions*>(&group.options()) != nullptr;
    for (const torch::Tensor& parameter : group.params()) {
      moments += has_moments ? 2 * aligned(bytes_of(parameter)) : 0;
    }
  }
  std::size_t present = 0;
  for (const torch::Tensor* tensor : *tensors) present += aligned(tensor->nbytes());
  return std::max(moments, present);
}

void Snapshot::add_tensors(std::string file, NamedTensors tensors) {
  tensors_.emplace_back(std::move(file), std::move(tensors));
}

RelayedArchive Snapshot::add_optimizer(std::string file, optim::Optimizer& optimizer,
                                       const LeftOut& left_out,
                                       const std::vector<RelayedMoment>& relayed) {
  std::map<const torch::Tensor*, std::size_t> places;  // In `relayed`.
  for (std::size_t i = 0; i < relayed.size(); ++i) places[relayed[i].moment] = i;
  auto tensors = tensors_of(optimizer);
  if (!tensors) {
    for (auto& [parameter, state] : optimizer.state()) {
      const auto moments = moments_of(*state).value_or(std::vector<torch::Tensor*>());
      if (std::ranges::none_of(moments, [&](auto* moment) {
            return left_out.contains(moment) || places.contains(moment);
          })) {
        continue;
      }
      throw std::invalid_argument(
          "an optimizer of a sharded model cannot be saved, because its class is derived from one "
          "of LibTorch's and may have state that is unknown here");
    }
    add_archive(std::move(file), [&](OutputArchive& archive) { optimizer.save(archive); });
    return {};
  }
  Optimizer added{.file = std::move(file), .optimizer = &optimizer};
  RelayedArchive archive;
  std::vector<torch::Tensor> like;
  for (const torch::Tensor* tensor : *tensors) {
    const auto place = places.find(tensor);
    const bool is_copied = place == places.end() && !left_out.contains(tensor);
    added.values.push_back(is_copied ? *tensor : torch::Tensor());
    if (place == places.end()) continue;
    const std::vector<std::int64_t>& shape = relayed[place->second].shape;
    like.push_back(torch::empty(shape, at::TensorOptions(tensor->scalar_type()).device(at::kMeta)));
    if (like.back().numel() > 0) archive.order.push_back(static_cast<std::int64_t>(place->second));
  }
  added.stand_ins.resize(tensors->size());
  if (!like.empty()) {
    archive.tensors = added.relayed = std::make_shared<RelayedTensors>(like);
    auto next = archive.tensors->tensors().begin();
    for (std::size_t i = 0; i < tensors->size(); ++i) {
      if (places.contains((*tensors)[i])) added.stand_ins[i] = *next++;
    }
  }
  added.tensors = *std::move(tensors);
  optimizers_.push_back(std::move(added));
  return archive;
}

std::shared_ptr<ByteRelay> Snapshot::add_relayed(std::string file, std::string header,
                                                 std::uint64_t size) {
  const auto relay = std::make_shared<ByteRelay>();
  files_.push_back(
      {std::move(file), size, [relay, header = std::move(header)](const ByteSink& sink) {
         const RelayCloser closer(*relay);
         sink(header);
         while (relay->take(sink)) {
         }
       }});
  return relay;
}

void Snapshot::add_parts(std::string folder, int rank, std::vector<TensorPart> parts) {
  if (!parts.empty()) parts_.push_back({std::move(folder), rank, std::move(parts)});
}

void Snapshot::add_archive(std::string file, const std::function<void(OutputArchive&)>& save) {
  OutputArchive archive;
  save(archive);
  std::string bytes;
  write_archive(archive, [&](std::string_view part) { bytes.append(part); });
  add_text(std::move(file), std::move(bytes));
}

void Snapshot::add_text(std::string file, std::string text) {
  const std::size_t size = text.size();
  files_.push_back(
      {std::move(file), size, [text = std::move(text)](const ByteSink& sink) { sink(text); }});
}

std::vector<torch::Tensor> Snapshot::copies_of(const std::vector<torch::Tensor>& tensors) {
  std::size_t total = 0;
  for (const torch::Tensor& tensor : tensors) total += aligned(bytes_in(tensor));
  char* position = memory_.reserve(total);
  std::vector<torch::Tensor> copies;
  std::vector<MemoryCopy> plain;
  std::size_t begin = 0;
  for (const torch::Tensor& tensor : tensors) {
    if (!tensor.defined()) {
      copies.emplace_back();
      continue;
    }
    copies.push_back(torch::from_blob(position, tensor.sizes(),
                                      tensor.options().device(c10::kCPU).requires_grad(false)));
    if (tensor.is_cpu() && tensor.is_contiguous()) {
      plain.push_back(
          {position, static_cast<const char*>(tensor.const_data_ptr()), begin, tensor.nbytes()});
      begin += tensor.nbytes();
    } else {
      copies.back().copy_(tensor, /*non_blocking=*/true);
      if (!tensor.is_cpu()) note_queued(tensor.device());
    }
    position += aligned(tensor.nbytes());
  }
  carry_out(plain);
  return copies;
}

// Moves the event of `device` behind everything that its current stream has been given so far.
void Snapshot::note_queued(const c10::Device& device) {
  const auto is_of_device = [&](const std::shared_ptr<c10::Event>& event) {
    return event->device_index() == device.index();
  };
  auto event = std::find_if(queued_.begin(), queued_.end(), is_of_device);
  if (event == queued_.end()) {
    event = queued_.insert(event, std::make_shared<c10::Event>(device.type()));
  }
  (*event)->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

Snapshot::~Snapshot() {
  try {
    wait();
  } catch (const std::exception&) {
    // The GPU has failed, and copies nothing any more.
  }
}

void Snapshot::wait() const {
  for (const auto& event : queued_) event->synchronize();
}

// An OutputArchive holds no bytes before it is serialized, only references to the tensors that the
// optimizer has while it fills the archive. So the optimizer holds the copies for that moment.
void Snapshot::archive_later(const Optimizer& optimizer, std::vector<torch::Tensor> copies) {
  std::size_t size = 0;
  for (const torch::Tensor& copy : copies) size += bytes_in(copy);
  const auto exchange = [&] {
    for (std::size_t i = 0; i < copies.size(); ++i) std::swap(*optimizer.tensors[i], copies[i]);
  };
  const auto archive = std::make_shared<OutputArchive>();
  exchange();
  try {
    optimizer.optimizer->save(*archive);
  } catch (...) {
    exchange();
    throw;
  }
  exchange();
  files_.push_back(
      {optimizer.file, size, [archive, relayed = optimizer.relayed](const ByteSink& sink) {
         if (relayed == nullptr) return write_archive(*archive, sink);
         const RelayCloser closer(relayed->relay());
         relayed->write([&](const ByteSink& inner) { write_archive(*archive, inner); }, sink);
       }});
}

void Snapshot::copy() {
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> all;
  for (const auto& [file, tensors] : tensors_) {
    for (const auto& [name, tensor] : tensors) all.push_back(tensor);
  }
  for (const Parts& parts : parts_) {
    for (const TensorPart& part : parts.parts) all.push_back(part.values);
  }
  for (const Optimizer& optimizer : optimizers_) {
    all.insert(all.end(), optimizer.values.begin(), optimizer.values.end());
  }
  std::vector<torch::Tensor> copies = copies_of(all);
  auto next = copies.begin();
  for (auto& [file, tensors] : tensors_) {
    for (auto& [name, tensor] : tensors) tensor = *next++;
    const auto content = std::make_shared<TensorFile>(tensors);
    files_.push_back({file, content->size(), [content](const ByteSink& sink) {
                        for (const std::string_view part : content->parts()) sink(part);
                      }});
  }
  for (Parts& parts : parts_) {
    for (TensorPart& part : parts.parts) part.values = *next++;
    std::ranges::move(files_of(parts.folder, parts.rank, parts.parts), std::back_inserter(files_));
  }
  for (const Optimizer& optimizer : optimizers_) {
    const auto end = next + static_cast<std::ptrdiff_t>(optimizer.tensors.size());
    std::vector<torch::Tensor> saved(next, end);
    for (std::size_t i = 0; i < saved.size(); ++i) {
      if (optimizer.stand_ins[i].defined()) saved[i] = optimizer.stand_ins[i];
    }
    archive_later(optimizer, std::move(saved));
    next = end;
  }
}

}  // namespace accel::runtime
