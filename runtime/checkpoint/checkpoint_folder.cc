#include "runtime/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>

#include "accel/errors.h"
#include "runtime/checkpoint/durable_file.h"
#include "runtime/checkpoint/file_reader.h"
#include "runtime/checkpoint/parallel_io.h"
#include "runtime/core/checkpoint_layout.h"

namespace accel {
namespace fs = std::filesystem;
namespace {

constexpr char kClaimFile[] = ".claim";
constexpr std::uint64_t kMaxClaim = 4096;

// A folder that is not there has none.
std::vector<std::string> names_in(const fs::path& folder) try {
  std::vector<std::string> names;
  if (!fs::exists(folder)) return names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
} catch (const fs::filesystem_error& error) {
  throw CheckpointError(folder.string() + ": cannot be read: " + error.code().message());
}

// Without its manifest a folder is no checkpoint, however much of it is left. Of a symbolic link
// only the link goes.
void remove_checkpoint(const fs::path& folder) {
  if (fs::is_symlink(folder)) {
    fs::remove(folder);
    return;
  }
  fs::remove(folder / kManifestFile);
  fs::remove_all(folder);
}

// Where the new checkpoint is in place and only room is lost. A checkpoint that goes gets the name
// of one that was never complete: what a crash leaves of it goes with the next.
void remove_or_say(const fs::path& folder) {
  try {
    const bool has_name = !folder.string().ends_with(kPartialSuffix);
    const fs::path partial = has_name ? fs::path(folder.string() + kPartialSuffix) : folder;
    if (has_name) fs::rename(folder, partial);
    remove_checkpoint(partial);
  } catch (const fs::filesystem_error& error) {
    std::cerr << "accel: an old checkpoint stays: " << error.what() << std::endl;
  }
}

Manifest read_manifest(const fs::path& folder) {
  const fs::path file = folder / kManifestFile;
  if (!fs::exists(file)) {
    throw DamageError(folder.string() + ": it is no complete checkpoint: it has no " +
                      kManifestFile);
  }
  return parse_manifest(read_text(file, kMaxManifest), file.string());
}

// Of one that this version reads. Without reading the files: whether they are as long as they were.
struct Inspection {
  bool is_checkpoint = false, is_torn = false;
};
Inspection inspect(const fs::path& folder) {
  try {
    for (const auto& [name, expected] : read_manifest(folder).files) {
      std::error_code error;
      const std::uint64_t size = fs::file_size(folder / name, error);
      const bool is_known = !error || error == std::errc::no_such_file_or_directory;
      if (is_known && (error || size != expected.size)) return {true, true};
    }
    return {true, false};
  } catch (const std::exception&) {
    return {};  // Whatever it is, it is not for us to remove.
  }
}

std::string claim_text(const Claim& claim) {
  return claim.job + " " + std::to_string(claim.generation) + "\n";
}

std::optional<Claim> read_claim(const fs::path& parent) {
  if (!fs::exists(parent / kClaimFile)) return std::nullopt;
  const std::string text = read_text(parent / kClaimFile, kMaxClaim);
  const std::size_t space = text.rfind(' ');
  Claim claim{.job = text.substr(0, space), .generation = 0};
  if (space != std::string::npos) claim.generation = std::strtoull(&text[space], nullptr, 10);
  return claim;
}

// What a file system answers that knows no such flag.
bool is_unsupported(int error) { return error == EINVAL || error == ENOSYS || error == ENOTSUP; }

void rename_or_fail(const fs::path& from, const fs::path& to, unsigned flags = 0) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0) return;
  if (flags == RENAME_NOREPLACE && is_unsupported(errno)) return rename_or_fail(from, to);
  throw CheckpointError(to.string() + ": cannot be put in place: " + std::strerror(errno));
}

fs::path replaced_name(const fs::path& folder) { return folder.string() + kReplacedSuffix; }

// Leaves what was there in `partial`. Where two names cannot be exchanged, the older checkpoint has
// another one for a moment; restore_replaced() knows it.
void exchange(const fs::path& partial, const fs::path& folder) {
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    return;
  }
  if (!is_unsupported(errno)) {
    throw CheckpointError(folder.string() + ": cannot be replaced: " + std::strerror(errno));
  }
  rename_or_fail(folder, replaced_name(folder));
  rename_or_fail(partial, folder);
  rename_or_fail(replaced_name(folder), partial);
}

// After a crash in exchange(). Does nothing where there was none.
void restore_replaced(const fs::path& folder) {
  const fs::path replaced = replaced_name(folder);
  if (!fs::exists(replaced)) return;
  if (fs::exists(folder)) {
    remove_checkpoint(replaced);
  } else {
    rename_or_fail(replaced, folder);
  }
}

void sync_folders_in(const fs::path& folder) {
  sync_folder(folder);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_symlink() && entry.is_directory()) sync_folder(entry.path());
  }
}

// Files of a checkpoint's folder that are no part of it get a second name in `partial`; symbolic
// links stay what they are, wherever they lead. One whose manifest is damaged can be told from them
// no more: then all stay.
void keep_foreign_files(const fs::path& folder, const fs::path& partial) {
  std::set<std::string> own{kManifestFile};
  try {
    for (const auto& [name, facts] : read_manifest(folder).files) {
      own.insert(name.substr(0, name.find('/')));
    }
  } catch (const CheckpointError&) {
  }
  for (const std::string& name : names_in(folder)) {
    if (own.contains(name) || fs::exists(partial / name)) continue;
    fs::copy(folder / name, partial / name,
             fs::copy_options::recursive | fs::copy_options::create_hard_links |
                 fs::copy_options::copy_symlinks);
    if (fs::is_directory(fs::symlink_status(partial / name))) sync_folders_in(partial / name);
  }
}

// What others have put into `partial`, durable now.
std::map<std::string, FileFacts> guest_files(const fs::path& partial) {
  std::map<std::string, FileFacts> guests;
  for (const auto& entry : fs::recursive_directory_iterator(partial)) {
    if (entry.is_regular_file() && !entry.is_symlink()) {
      sync_file(entry.path());
      guests[fs::relative(entry.path(), partial).string()] = facts_of(entry.path());
    } else if (entry.is_directory() && !entry.is_symlink()) {
      sync_folder(entry.path());
    } else {
      throw CheckpointError(entry.path().string() +
                            ": it is neither a file nor a folder, and cannot be saved");
    }
  }
  return guests;
}

// Before anything is written: what a hook has put under such a name would be lost.
void check_names_of_guests(const fs::path& partial, const std::vector<CheckpointFile>& files) {
  const auto refuse = [&](const std::string& name) {
    if (!fs::exists(fs::symlink_status(partial / name))) return;
    throw CheckpointError((partial / name).string() + ": a hook has put it there, and " + name +
                          " is a file of the checkpoint itself: give it another name");
  };
  refuse(kManifestFile);
  for (const CheckpointFile& file : files) refuse(file.name);
}

FileFacts write_file(const fs::path& path, const CheckpointFile& content) {
  DurableFile file(path, content.expected_size);
  content.write([&](std::string_view bytes) { file.append(bytes); });
  return file.finish();
}

void check_replaceable(const fs::path& folder) {
  if (fs::is_symlink(folder)) {  // What leads somewhere is resolved by now.
    throw std::invalid_argument(folder.string() +
                                ": it is a symbolic link that leads nowhere: remove it");
  }
  if (!fs::exists(folder)) return;
  if (fs::is_directory(folder) && (fs::is_empty(folder) || fs::exists(folder / kManifestFile))) {
    return;
  }
  throw std::invalid_argument(folder.string() +
                              ": it is there already and is no checkpoint of accel's: save to a "
                              "folder that is new or empty");
}

// A rename cannot give what was written beside a mount point that name.
void check_same_file_system(const fs::path& folder) {
  struct stat status {};
  struct stat parent {};
  if (::stat(folder.c_str(), &status) != 0 || ::stat(folder.parent_path().c_str(), &parent) != 0) {
    return;  // One that is not there yet will be where its parent is.
  }
  if (status.st_dev == parent.st_dev) return;
  throw std::invalid_argument(folder.string() +
                              ": a file system is mounted there, and a checkpoint cannot take its "
                              "place: save to a folder below it");
}

void check_claim(const fs::path& parent, const Claim& mine) {
  const std::optional<Claim> current = read_claim(parent);
  if (!current || (current->job == mine.job && current->generation == mine.generation)) return;
  throw CheckpointError(parent.string() + ": generation " + std::to_string(current->generation) +
                        " of job " + current->job + " has taken over, and generation " +
                        std::to_string(mine.generation) + " of job " + mine.job +
                        " commits no more checkpoints here");
}

}  // namespace

fs::path resolved_folder(const fs::path& folder) {
  const fs::path normal = fs::absolute(folder).lexically_normal();
  const fs::path whole = normal.has_filename() ? normal : normal.parent_path();
  std::error_code error;
  if (!fs::is_symlink(whole, error)) return whole;
  const fs::path target = fs::canonical(whole, error);
  return error ? whole : target;  // Whoever uses it says what is wrong with it.
}

fs::path partial_folder(const fs::path& folder) {
  return resolved_folder(folder).string() + kPartialSuffix;
}

fs::path begin_checkpoint(const fs::path& named) {
  const fs::path folder = resolved_folder(named), partial = partial_folder(folder);
  try {
    check_same_file_system(folder);
    restore_replaced(folder);
    check_replaceable(folder);
    create_folders_durably(folder.parent_path());
    fs::remove_all(partial);
    fs::create_directory(partial);
  } catch (const fs::filesystem_error& error) {
    throw CheckpointError(folder.string() + ": cannot be written: " + error.what());
  }
  return partial;
}

void write_checkpoint(const fs::path& named, const std::vector<CheckpointFile>& files,
                      const CheckpointWrite& how) {
  const fs::path folder = resolved_folder(named);
  const fs::path parent = folder.parent_path(), partial = partial_folder(folder);
  try {
    check_names_of_guests(partial, files);
    Manifest manifest{.iteration = how.iteration,
                      .num_processes = how.num_processes,
                      .files = guest_files(partial)};
    std::vector<FileFacts> written(files.size());
    in_parallel(files.size(),
                [&](std::size_t i) { written[i] = write_file(partial / files[i].name, files[i]); });
    for (std::size_t i = 0; i < files.size(); ++i) manifest.files[files[i].name] = written[i];
    const std::string text = manifest_text(manifest);
    write_durably(partial / kManifestFile, {text});
    const bool replaces = fs::exists(folder);
    if (replaces) keep_foreign_files(folder, partial);
    sync_folder(partial);
    if (how.claim) check_claim(parent, *how.claim);
    if (replaces) {
      exchange(partial, folder);
    } else {
      rename_or_fail(partial, folder, RENAME_NOREPLACE);
    }
    sync_folder(parent);
    if (replaces) remove_or_say(partial);
  } catch (const fs::filesystem_error& error) {
    throw CheckpointError(folder.string() + ": cannot be written: " + error.what());
  }
}

Manifest verify_checkpoint(const fs::path& named) try {
  const fs::path folder = resolved_folder(named);
  restore_replaced(folder);
  if (!fs::is_directory(folder)) {
    throw DamageError(folder.string() + ": there is no such checkpoint");
  }
  const Manifest manifest = read_manifest(folder);
  for (const auto& [name, expected] : manifest.files) {
    const FileFacts found = facts_of(folder / name);
    if (found == expected) continue;
    throw DamageError((folder / name).string() + ": it is " +
                      (found.size == expected.size
                           ? "corrupt: its checksum does not fit"
                           : "torn: it has " + std::to_string(found.size) + " bytes of " +
                                 std::to_string(expected.size)) +
                      ". The checkpoint cannot be used: load an earlier one");
  }
  return manifest;
} catch (const fs::filesystem_error& error) {
  throw CheckpointError(named.string() + ": cannot be read: " + error.what());
}

std::optional<FoundCheckpoint> newest_checkpoint(
    const fs::path& parent, const std::function<void(const std::string& reason)>& skipped) try {
  for (const std::string& name : names_in(parent)) {
    if (!name.ends_with(kReplacedSuffix)) continue;
    const std::string stem = name.substr(0, name.size() - std::strlen(kReplacedSuffix));
    if (iteration_of(stem)) restore_replaced(parent / stem);
  }
  std::vector<std::string> names = checkpoints_among(names_in(parent));
  std::reverse(names.begin(), names.end());
  std::string damaged;
  for (const std::string& name : names) {
    try {
      return FoundCheckpoint{parent / name, verify_checkpoint(parent / name)};
    } catch (const DamageError& error) {
      skipped(error.what());
    }
    // One without a manifest was never complete, or is not ours.
    if (fs::exists(parent / name / kManifestFile)) damaged += (damaged.empty() ? "" : ", ") + name;
  }
  if (damaged.empty()) return std::nullopt;
  throw CheckpointError(parent.string() + ": all of its checkpoints are damaged (" + damaged +
                        "): move them away to start anew");
} catch (const fs::filesystem_error& error) {
  throw CheckpointError(parent.string() + ": cannot be read: " + error.what());
}

std::uint64_t first_free(const fs::path& parent) {
  const std::vector<std::string> checkpoints = checkpoints_among(names_in(parent));
  return checkpoints.empty() ? 0 : *iteration_of(checkpoints.back()) + 1;
}

void remove_old_checkpoints(const fs::path& written, std::optional<std::size_t> total_limit) try {
  const fs::path folder = resolved_folder(written), parent = folder.parent_path();
  const std::vector<std::string> names = names_in(parent);
  for (const std::string& name : names) {
    const std::size_t stem = name.size() - std::min(name.size(), std::strlen(kPartialSuffix));
    if (name.substr(stem) == kPartialSuffix && iteration_of(name.substr(0, stem))) {
      remove_or_say(parent / name);
    }
  }
  if (!total_limit) return;
  std::vector<std::string> checkpoints;
  std::set<std::string> torn;
  for (const std::string& name : checkpoints_among(names)) {
    const Inspection found = inspect(parent / name);
    if (found.is_checkpoint) checkpoints.push_back(name);
    if (found.is_torn) torn.insert(name);
  }
  for (const std::string& name :
       checkpoints_to_remove(checkpoints, folder.filename(), total_limit, torn)) {
    remove_or_say(parent / name);
  }
} catch (const CheckpointError& error) {
  std::cerr << "accel: old checkpoints stay: " << error.what() << std::endl;
}

void claim_checkpoints(const fs::path& parent, const Claim& claim) {
  create_folders_durably(parent);
  const std::optional<Claim> current = read_claim(parent);
  if (current && current->job == claim.job && current->generation > claim.generation) {
    check_claim(parent, claim);
  }
  const fs::path next = parent / (std::string(kClaimFile) + kPartialSuffix);
  const std::string text = claim_text(claim);
  write_durably(next, {text});
  rename_or_fail(next, parent / kClaimFile);
  sync_folder(parent);
}

}  // namespace accel
