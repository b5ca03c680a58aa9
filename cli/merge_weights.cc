#include "cli/merge_weights.h"

#include <exception>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/exit_codes.h"
#include "cli/flags.h"
#include "common/checkpoint_error.h"
#include "weights/merge.h"

namespace accel::cli {
namespace {

constexpr char kFile[] = "model.safetensors";

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

}  // namespace

int RunMergeWeights(const std::vector<std::string>& args, const Console& console) {
  std::string folder, out;
  FlagSet flags("accel merge-weights", "FOLDER [OUT]",
                "Merges a sharded checkpoint into one safetensors file, in the memory of its "
                "largest tensor. FOLDER was written by accel, or by Python's "
                "torch.distributed.checkpoint (for example pytorch_model_fsdp_0 of Accelerate). "
                "OUT is the file to write (default: model.safetensors beside FOLDER).");
  flags.Argument("FOLDER", /*required=*/true, &folder);
  flags.Argument("OUT", /*required=*/false, &out);
  flags.Footer("Exit codes: 0 done, 2 wrong usage, 1 any other error.");
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  // Not into the folder, where the merged file would look like a part of the checkpoint.
  if (out.empty()) {
    const size_t slash = folder.rfind('/');
    out = absl::StrCat(slash == std::string::npos ? "" : folder.substr(0, slash + 1), kFile);
  }
  const absl::StatusOr<weights::Merged> merged = Merge(folder, out);
  if (!merged.ok()) return Fail(console, merged.status());
  console.out << "merged " << merged->tensors << " tensors into " << out << " (" << merged->bytes
              << " bytes; the largest tensor has " << merged->largest << ")\n";
  if (!merged->skipped.empty()) {
    PrintMessage(console,
                 absl::StrCat("left out ", merged->skipped.size(),
                              " values that are no tensors, such as ", merged->skipped.front()));
  }
  return kExitOk;
}

}  // namespace accel::cli
