#include "runtime/checkpoint/checkpointer.h"

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <sstream>
#include <tuple>
#include <utility>

#include "accel/errors.h"
#include "runtime/checkpoint/commit.h"
#include "runtime/checkpoint/folder_paths.h"
#include "runtime/checkpoint/rank_files.h"
#include "runtime/checkpoint/report.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/checkpoint/shared_outcome.h"
#include "runtime/checkpoint/verify.h"
#include "runtime/comm/nccl_backend.h"
#include "runtime/comm/progress_beat.h"
#include "runtime/comm/rank_notes.h"
#include "runtime/core/checkpoint_layout.h"
#include "runtime/error_text.h"

namespace accel::runtime {
namespace fs = std::filesystem;

namespace {

// Returns how staging memory is locked for the GPU of this process, if it has one.
PageLocks page_locks(const c10::Device& device) {
  if (!device.is_cuda()) return {};
  const auto lock = [index = device.index()](void* memory, std::size_t size) {
    use_gpu(index);  // A new thread starts on GPU 0.
    return lock_pages(memory, size);
  };
  return {.lock = lock, .unlock = unlock_pages};
}

// Says for its lifetime that this rank pauses: it writes or reads a checkpoint, or waits for a rank
// that does. A slow disk is no hang.
class Pause {
 public:
  Pause() { ProgressBeat::of_process().pause(); }
  ~Pause() { ProgressBeat::of_process().step(); }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
};

// Returns a number that identifies one save of one process.
std::uint64_t clock_and_process() {
  const auto since_start = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(since_start.count()) ^
         (static_cast<std::uint64_t>(getpid()) << 40);
}

// Writes the files of a rank other than 0, and reports them to rank 0.
void write_as_part(const fs::path& folder, const std::optional<HeldClaim>& claim,
                   const Environment& environment, const std::string& token,
                   const std::function<void()>& ready, const std::vector<CheckpointFile>& files) {
  const auto write = [&] {
    ready();
    if (claim) check_claim(*claim);
    return write_part(partial_folder(folder), files);
  };
  report_files(connect_notes(environment, token), environment.rank, write);
}

}  // namespace

Checkpointer::Checkpointer(std::shared_ptr<ProcessState> process, ProjectConfiguration project)
    : process_(std::move(process)),
      naming_(std::move(project)),
      run_(process_),
      memory_(page_locks(process_->device)) {}

Checkpointer::~Checkpointer() {
  try {
    wait_for_writing();
  } catch (const std::exception& error) {
    std::cerr << "accel: the last checkpoint was not saved: " << error_text(error) << std::endl;
  }
}

void Checkpointer::wait_for_writing() {
  if (writing_.valid()) writing_.get();
}

// Only a job of accel's launcher has an id, and so a claim.
std::optional<HeldClaim> Checkpointer::claim_on(ClaimedPlace place) const {
  const Environment& environment = process_->environment;
  if (environment.job_id.empty()) return std::nullopt;
  return HeldClaim{.on = std::move(place),
                   .claim = {.job = environment.job_id, .generation = environment.generation}};
}

void Checkpointer::run_hooks(const std::vector<CheckpointHook>& hooks, const fs::path& folder) {
  if (hooks.empty()) return;
  run_on_every_rank(*process_, [&] {
    for (const CheckpointHook& hook : hooks) hook(folder.string());
  });
}

void Checkpointer::save(const fs::path& given) {
  const Pause pause;
  const fs::path folder = begin(given);
  run_hooks(save_hooks_, partial_folder(folder));
  write_in_background(folder, /*automatic=*/given.empty(), run_.gather());
}

// Returns the folder of the checkpoint that was begun.
fs::path Checkpointer::begin(const fs::path& given) {
  if (!given.empty()) {
    const fs::path folder = resolved_folder(given);
    run_on_every_rank(*process_, [&] {
      wait_for_writing();
      if (process_->environment.rank == 0) {
        begin_checkpoint(folder, claim_on(claimed_folder(folder)));
      }
    });
    return folder;
  }
  // Throws on each rank by itself, without communication, if there are no automatic names.
  static_cast<void>(naming_.parent());
  run_on_every_rank(*process_, [&] {
    wait_for_writing();
    if (process_->environment.rank == 0) begin_automatic();
  });
  if (!naming_.is_settled()) {
    const auto number = static_cast<std::int64_t>(naming_.next_number());
    Communicator* const communicator = process_->communicator.get();
    naming_.set_next_number(static_cast<std::uint64_t>(
        communicator == nullptr ? number : communicator->broadcast_number(number)));
  }
  return naming_.folder(naming_.next_number());
}

void Checkpointer::begin_automatic() {
  naming_.skip_existing();
  if (const auto mine = claim_on(claimed_parent(naming_.parent()))) claim_checkpoints(*mine);
  begin_checkpoint(naming_.folder(naming_.next_number()));
}

void Checkpointer::write_in_background(const fs::path& folder, bool automatic,
                                       const RunState::Gathered& gathered) {
  const std::uint64_t number = naming_.next_number();
  if (automatic) naming_.set_next_number(number + 1);
  const bool is_main = process_->environment.rank == 0, in_parts = run_.is_in_parts();
  CommitOptions options{
      .iteration = number,
      .num_processes = process_->environment.world_size,
      .claim = claim_on(automatic ? claimed_parent(naming_.parent()) : claimed_folder(folder))};
  std::shared_ptr<Snapshot> copied;
  run_on_every_rank(*process_, [&] {
    if (is_main || in_parts) copied = run_.copy(gathered, naming_.next_number(), memory_);
  });
  std::string token;
  if (in_parts) std::tie(token, options.others) = exchange_names(*copied);
  if (copied != nullptr)
    writing_ = std::async(
        std::launch::async, [folder, options, automatic, token, copied,
                             limit = naming_.total_limit(), world = process_->communicator.get(),
                             environment = process_->environment, whole = gathered.whole] {
          const std::shared_ptr<void> closing(nullptr, [&](void*) { whole->close(); });
          const auto ready = [&] {
            copied->wait();
            // If a peer was lost, the GPU has computed the state from gradients that never arrived.
            if (world != nullptr) world->check();
          };
          if (environment.rank != 0) {
            return write_as_part(folder, options.claim, environment, token, ready, copied->files());
          }
          ready();
          commit_checkpoint(folder, copied->files(), options);
          report_checkpoint(environment.report_socket);
          if (automatic) delete_old_checkpoints(folder, limit);
        });
  gathered.whole->give(*process_);
}

// Tells rank 0 the names of all files. Tells the other ranks the prefix of the notes in which they
// report their files. Collective.
std::pair<std::string, std::optional<OtherRanks>> Checkpointer::exchange_names(
    const Snapshot& copied) const {
  Communicator* const communicator = process_->communicator.get();
  if (communicator == nullptr) return {};
  const bool is_main = communicator->rank() == 0;
  std::string mine;
  for (const CheckpointFile& file : copied.files()) mine += file.name + "\n";
  // A number that no other save of this store has, whichever start of the job made it.
  if (is_main) mine = "/accel/save/" + std::to_string(clock_and_process());
  const std::vector<std::string> all = communicator->all_gather_bytes(mine);
  const std::string token = all.front() + "/";
  if (!is_main) return {token, std::nullopt};
  OtherRanks others;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    std::istringstream lines(all[rank]);
    for (std::string name; std::getline(lines, name);) others.names.insert(name);
  }
  others.await = [environment = process_->environment, token] {
    return collect_files(connect_notes(environment, token), environment.world_size);
  };
  return {token, std::move(others)};
}

void Checkpointer::wait() {
  const Pause pause;
  run_on_every_rank(*process_, [&] { wait_for_writing(); });
}

void Checkpointer::expect_saves() {
  if ((process_->environment.rank != 0 && !run_.is_in_parts()) || writing_.valid()) return;
  memory_.prepare(run_.expected_bytes());
}

bool Checkpointer::load(const fs::path& given, bool required) {
  const Pause pause;
  const fs::path named = given.empty() ? given : resolved_folder(given);
  Found found;
  run_on_every_rank(*process_, [&] {
    wait_for_writing();
    if (process_->environment.rank == 0) found = find(named, required);
  });
  if (process_->communicator != nullptr) {
    const auto numbers = process_->communicator->broadcast_numbers({found.number, found.next});
    found = {.number = numbers[0], .next = numbers[1]};
  }
  const auto next = static_cast<std::uint64_t>(found.next);
  if (found.number < 0) {
    naming_.set_next_number(next);
    return false;
  }
  const fs::path folder =
      named.empty() ? naming_.folder(static_cast<std::uint64_t>(found.number)) : named;
  run_hooks(load_hooks_, folder);
  run_on_every_rank(*process_, [&] { run_.restore(folder); });
  naming_.set_next_number(next);
  return true;
}

Checkpointer::Found Checkpointer::find(const fs::path& named, bool required) {
  if (named.empty()) return find_newest(required);
  if (const auto mine = claim_on(claimed_folder(named))) renew_claim(*mine);
  verify_checkpoint(named);
  const std::uint64_t saved_next = read_training_state(named).next_iteration;
  return {.number = 0, .next = static_cast<std::int64_t>(naming_.number_after(saved_next))};
}

Checkpointer::Found Checkpointer::find_newest(bool required) {
  const fs::path parent = naming_.parent();
  if (const auto mine = claim_on(claimed_parent(parent))) claim_checkpoints(*mine);
  const auto newest = newest_checkpoint(parent, [](const std::string& reason) {
    std::cerr << "accel: skipping checkpoint: " << reason << std::endl;
  });
  if (!newest && required) {
    throw CheckpointError(parent.string() + ": there is no complete checkpoint to load");
  }
  Found found;
  std::uint64_t next = naming_.next_number();
  if (newest) {
    found.number = static_cast<std::int64_t>(*iteration_of(newest->folder.filename().string()));
    next = read_training_state(newest->folder).next_iteration;
  }
  found.next = static_cast<std::int64_t>(naming_.number_after(next));
  return found;
}

}  // namespace accel::runtime
