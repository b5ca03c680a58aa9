#include "cli/merge_weights.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/exit_codes.h"
#include "cli/flags.h"
#include "cli/json_object.h"
#include "common/checkpoint_error.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "weights/merge.h"

namespace accel::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kFile[] = "model.safetensors";

struct MergeFlags {
  std::string folder, out;
  bool removes_folder = false;
  bool unsafe = false;
  bool json = false;
};

// The folder weights/ throws, because workers use it too. This is where its errors become a Status.
absl::StatusOr<weights::Merged> Merge(const std::string& folder, const std::string& out) {
  try {
    return weights::merge(folder, out);
  } catch (const CheckpointError& error) {
    return absl::FailedPreconditionError(error.what());
  } catch (const std::exception& error) {  // No memory, or a path that the system refuses.
    return absl::InternalError(error.what());
  }
}

// Returns true if OUT is a folder, which gets the file. As with Accelerate, what does not exist is
// one, unless its name is that of a file of weights.
bool IsFolder(const std::string& out) {
  if (out.empty()) return false;
  std::error_code ignored;
  if (out.back() == '/' || fs::is_directory(out, ignored)) return true;
  return !absl::EndsWith(out, ".safetensors") && !fs::exists(out, ignored);
}

// Returns the file to write.
std::string FileToWrite(const std::string& folder, const std::string& out) {
  if (IsFolder(out)) return absl::StrCat(out, out.back() == '/' ? "" : "/", kFile);
  if (!out.empty()) return out;
  // Not into the folder, where the merged file would look like a part of the checkpoint.
  const size_t slash = folder.rfind('/');
  return absl::StrCat(slash == std::string::npos ? "" : folder.substr(0, slash + 1), kFile);
}

// Checks that --remove_checkpoint_dir would remove the folder that was named, and not the merged
// file with it.
absl::Status CheckRemoval(const std::string& folder, const std::string& file) {
  std::error_code error;
  const fs::path last = fs::path(folder).filename();
  if (last == "." || last == "..") {  // What is named before it may be a link.
    return absl::InvalidArgumentError(absl::StrCat("--remove_checkpoint_dir: ", folder, " ends in ",
                                                   last.string(), "; name the folder itself"));
  }
  if (fs::is_symlink(folder, error)) {
    return absl::InvalidArgumentError(absl::StrCat("--remove_checkpoint_dir: ", folder,
                                                   " is a symbolic link; name the folder itself"));
  }
  const fs::path whole = fs::canonical(folder, error);
  if (error) return absl::OkStatus();  // Merging says what is wrong.
  const fs::path written = fs::weakly_canonical(file, error);
  const auto [end, rest] =
      std::mismatch(whole.begin(), whole.end(), written.begin(), written.end());
  if (error || end == whole.end()) {
    return absl::InvalidArgumentError(absl::StrCat("--remove_checkpoint_dir: ", file,
                                                   " would be removed with ", folder,
                                                   "; choose an OUT outside of it"));
  }
  return absl::OkStatus();
}

absl::Status Failed(absl::string_view what, const std::string& path, const std::string& reason) {
  return absl::UnavailableError(absl::StrCat("cannot ", what, " ", path, ": ", reason));
}

// Makes the folder of the file durably, if it is missing. Returns true if it was missing.
absl::StatusOr<bool> MakeFolder(const fs::path& folder) {
  std::error_code error;
  if (!fs::create_directory(folder, error)) {
    if (error) return Failed("make the folder", folder, error.message());
    return false;
  }
  const fs::path above = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  const common::UniqueFd parent(open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid() || fsync(parent.get()) != 0) {
    return Failed("make the folder durable:", folder, strerror(errno));
  }
  return true;
}

absl::StatusOr<weights::Merged> MergeInto(const std::string& folder, const std::string& file,
                                          bool makes_folder) {
  const fs::path above = fs::path(file).parent_path();
  bool made = false;
  if (makes_folder) {
    ACCEL_ASSIGN_OR_RETURN(made, MakeFolder(above));
  }
  absl::StatusOr<weights::Merged> merged = Merge(folder, file);
  std::error_code ignored;
  if (made && !merged.ok()) fs::remove(above, ignored);
  return merged;
}

void Print(const weights::Merged& merged, const MergeFlags& flags, const std::string& file,
           const Console& console) {
  if (flags.json) {
    console.out << JsonObject::Versioned()
                       .Text("file", file)
                       .Number("tensors", merged.tensors)
                       .Number("bytes", merged.bytes)
                       .Number("largest_tensor_bytes", merged.largest)
                       .Texts("skipped", merged.skipped)
                       .Bool("removed_checkpoint_dir", flags.removes_folder)
                       .Print()
                << "\n";
    return;
  }
  console.out << "merged " << merged.tensors << " tensors into " << file << " (" << merged.bytes
              << " bytes; the largest tensor has " << merged.largest << ")\n";
  if (flags.removes_folder) console.out << "removed " << flags.folder << "\n";
  if (!merged.skipped.empty()) {
    PrintMessage(console,
                 absl::StrCat("left out ", merged.skipped.size(),
                              " values that are no tensors, such as ", merged.skipped.front()));
  }
}

absl::Status Run(const MergeFlags& flags, const Console& console) {
  if (flags.unsafe) {
    return absl::InvalidArgumentError(
        "--unsafe_serialization: accel writes safetensors only, because loading a pickle can run "
        "code; leave the flag out");
  }
  const std::string file = FileToWrite(flags.folder, flags.out);
  if (flags.removes_folder) ACCEL_RETURN_IF_ERROR(CheckRemoval(flags.folder, file));
  // Found before the merge, so that a link that is changed during it changes nothing.
  std::error_code error;
  const fs::path to_remove = fs::canonical(flags.folder, error);
  ACCEL_ASSIGN_OR_RETURN(const weights::Merged merged,
                         MergeInto(flags.folder, file, IsFolder(flags.out)));
  if (flags.removes_folder && !error) fs::remove_all(to_remove, error);
  if (flags.removes_folder && error) {
    return Failed("remove", flags.folder,
                  absl::StrCat(error.message(), "; the merged file is ", file));
  }
  Print(merged, flags, file, console);
  return absl::OkStatus();
}

}  // namespace

int RunMergeWeights(const std::vector<std::string>& args, const Console& console) {
  MergeFlags given;
  FlagSet flags("accel merge-weights", "[flags] FOLDER [OUT]",
                "Merges a sharded checkpoint into one safetensors file, in the memory of its "
                "largest tensor. FOLDER was written by accel, or by Python's "
                "torch.distributed.checkpoint (for example pytorch_model_fsdp_0 of Accelerate). "
                "OUT is the file to write (default: model.safetensors beside FOLDER), or a folder, "
                "which gets a model.safetensors. An OUT that does not exist is a folder, unless it "
                "ends in .safetensors.");
  flags.Switch("remove_checkpoint_dir",
               "remove FOLDER with all of its files, once the merged file is durable",
               &given.removes_folder);
  flags.Switch("unsafe_serialization", "is refused: accel writes safetensors only", &given.unsafe);
  flags.Switch("json", "print JSON (docs/json.md)", &given.json);
  flags.Argument("FOLDER", /*required=*/true, &given.folder);
  flags.Argument("OUT", /*required=*/false, &given.out);
  flags.Footer("Exit codes: 0 done, 2 wrong usage, 1 any other error.");
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  while (given.folder.size() > 1 && given.folder.back() == '/') given.folder.pop_back();
  const absl::Status done = Run(given, console);
  return done.ok() ? kExitOk : Fail(console, done);
}

}  // namespace accel::cli
