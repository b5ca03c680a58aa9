// How a checkpoint is committed (docs/decisions/0016).
//
// The problem. A save takes minutes and may end at any instant: the process is killed, the disk
// fills up, the machine loses power. A run that restarts must then find the older checkpoint or the
// newer one, and must be able to verify that it is complete.
//
// A folder, and not one file. Rank 0 writes models, optimizers and random states in parallel, each
// in the format that other programs read (safetensors, LibTorch archives). Hooks of the program add
// further files. One file would need our own archive format around them, written by one thread at a
// time, and a hook could not write into it. The price is that a folder has no atomic write: it has
// many files, and any of them may be torn.
//
// The approach. Everything is written into `checkpoint_7.partial`, a name that no search for
// checkpoints considers:
//
//   1. begin_checkpoint() creates the empty partial folder, and hooks put their files there.
//   2. commit_checkpoint() makes those files durable, then writes its own, each with fsync(). Of a
//      sharded checkpoint, every other rank writes its files by write_part(), and rank 0 waits.
//   3. The manifest follows, with the size and CRC-32C of every other file and of itself.
//   4. The partial folder is synced, so that the names in it are durable too.
//   5. One rename gives the folder its name: this is the commit. If an older checkpoint has the
//      name, the two names are exchanged.
//   6. The parent is synced. Only now may the older checkpoint be deleted, its manifest first.
//
// Step 5 makes a checkpoint appear in one step. The manifest is needed as well, because other
// programs make folders of these names, and because disks and people damage files later. A reader
// compares every file with the manifest (verify.h). The claim is compared right before step 5, so
// that an earlier generation of the job commits nothing after a later one has started (claim.h).
//
// The state that a crash leaves after each step, and what clears it:
//
// clang-format off
//   crash in or after step   found afterwards                      cleared by
//   1, 2, 3, 4               the older checkpoint; .partial        begin_checkpoint() of that name
//                                                                  or delete_old_checkpoints()
//   5, power loss before 6   the older or the newer one, by the    the same
//                            name that the disk has kept
//   6                        the newer one; what is left of the    the same
//                            older one as .partial
// clang-format on
//
// Some file systems cannot exchange two names. There step 5 takes three renames (replacement.h):
// the older checkpoint becomes `.replaced`, the newer one takes the name, the older one becomes
// `.partial`. After a crash between the first two, nothing has the name; the next load or save
// gives it back to the older one (finish_interrupted_exchange()).
//
// commit_test.cc kills a process in each of these operations in turn, and lets each of them fail.
#include "runtime/checkpoint/commit.h"

#include <sys/stat.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "accel/errors.h"
#include "runtime/checkpoint/claim.h"
#include "runtime/checkpoint/durable_file.h"
#include "runtime/checkpoint/extra_files.h"
#include "runtime/checkpoint/folder_paths.h"
#include "runtime/checkpoint/parallel_io.h"
#include "runtime/checkpoint/removal.h"
#include "runtime/checkpoint/replacement.h"
#include "runtime/core/checkpoint_layout.h"
#include "runtime/core/manifest.h"

namespace accel::runtime {
namespace fs = std::filesystem;
namespace {

// Nothing of the user's is deleted: only a checkpoint or an empty folder is replaced.
void check_replaceable(const fs::path& folder) {
  if (fs::is_symlink(folder)) {  // resolved_folder() has followed a link that leads somewhere.
    throw std::invalid_argument(folder.string() +
                                ": it is a symbolic link that leads nowhere: remove it");
  }
  if (!fs::exists(folder)) return;
  if (fs::is_directory(folder) && (fs::is_empty(folder) || fs::exists(folder / kManifestFile))) {
    return;
  }
  throw std::invalid_argument(folder.string() +
                              ": already exists and is not an accel checkpoint; save to a new or "
                              "empty folder");
}

// A mount point cannot be replaced by a rename, because the partial folder is created next to it,
// on another file system. A folder that does not exist yet will be on its parent's file system.
void check_same_file_system(const fs::path& folder) {
  struct stat status {};
  struct stat parent {};
  if (::stat(folder.c_str(), &status) != 0 || ::stat(folder.parent_path().c_str(), &parent) != 0) {
    return;
  }
  if (status.st_dev == parent.st_dev) return;
  throw std::invalid_argument(folder.string() +
                              ": a file system is mounted there, and a checkpoint cannot take its "
                              "place: save to a folder below it");
}

// Opens the file inside of content.write(), because then the thread that gives the bytes receives
// every error (byte_relay.h).
FileFacts write_file(const fs::path& path, const CheckpointFile& content) {
  std::optional<DurableFile> file;
  content.write([&](std::string_view bytes) {
    if (!file) file.emplace(path, content.expected_size);
    file->append(bytes);
  });
  if (!file) file.emplace(path);  // It is empty.
  return file->finish();
}

// Files of a rank's part are in folders of the partial folder.
std::map<std::string, FileFacts> write_files(const fs::path& partial,
                                             const std::vector<CheckpointFile>& files) {
  std::set<fs::path> folders;
  for (const CheckpointFile& file : files) folders.insert((partial / file.name).parent_path());
  folders.erase(partial);
  for (const fs::path& folder : folders) fs::create_directory(folder);
  std::vector<FileFacts> written(files.size());
  in_parallel(files.size(),
              [&](std::size_t i) { written[i] = write_file(partial / files[i].name, files[i]); });
  for (const fs::path& folder : folders) sync_folder(folder);
  std::map<std::string, FileFacts> facts;
  for (std::size_t i = 0; i < files.size(); ++i) facts[files[i].name] = written[i];
  return facts;
}

// Steps 2 and 3.
void write_files_and_manifest(const fs::path& partial, const std::vector<CheckpointFile>& files,
                              const CommitOptions& options) {
  const auto names = options.others ? options.others->names : std::set<std::string>();
  Manifest manifest{.iteration = options.iteration,
                    .num_processes = options.num_processes,
                    .files = sync_extra_files(partial, names)};
  manifest.files.merge(write_files(partial, files));
  if (options.others) manifest.files.merge(options.others->await());
  const std::string text = manifest_text(manifest);
  write_durably(partial / kManifestFile, {text});
}

}  // namespace

fs::path begin_checkpoint(const fs::path& given, const std::optional<HeldClaim>& claim) {
  const fs::path folder = resolved_folder(given), partial = partial_folder(folder);
  try {
    check_same_file_system(folder);
    finish_interrupted_exchange(folder);
    check_replaceable(folder);
    create_folders_durably(folder.parent_path());
    if (claim) claim_checkpoints(*claim);
    fs::remove_all(partial);
    fs::create_directory(partial);
  } catch (const fs::filesystem_error& error) {
    throw CheckpointError(folder.string() + ": cannot be written: " + error.what());
  }
  return partial;
}

std::map<std::string, FileFacts> write_part(const fs::path& partial,
                                            const std::vector<CheckpointFile>& files) {
  try {
    check_extra_names(partial, files);
    return write_files(partial, files);
  } catch (const fs::filesystem_error& error) {
    throw CheckpointError(partial.string() + ": cannot be written: " + error.what());
  }
}

void commit_checkpoint(const fs::path& given, const std::vector<CheckpointFile>& files,
                       const CommitOptions& options) {
  const fs::path folder = resolved_folder(given);
  const fs::path parent = folder.parent_path(), partial = partial_folder(folder);
  try {
    check_extra_names(partial, files);
    write_files_and_manifest(partial, files, options);
    const bool replaces = fs::exists(folder);
    if (replaces) carry_over_unlisted_files(folder, partial);
    sync_folder(partial);
    if (options.claim) check_claim(*options.claim);
    if (replaces) {
      exchange_names(partial, folder);
    } else {
      take_new_name(partial, folder);
    }
    sync_folder(parent);
    if (replaces) delete_checkpoint_or_log(partial);
  } catch (const fs::filesystem_error& error) {
    throw CheckpointError(folder.string() + ": cannot be written: " + error.what());
  }
}

}  // namespace accel::runtime
