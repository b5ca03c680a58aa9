// Deletes automatically named checkpoints that are no longer kept, after a newer one is committed.
// runtime/core/checkpoint_retention.h decides which ones.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace accel::runtime {

// Deletes siblings of the checkpoint `written`. First it deletes what crashed saves have left.
// Then it deletes checkpoints with files that are missing or of the wrong size, and then the
// oldest, until `total_limit` (at least 1) checkpoints remain. If `total_limit` is nullopt, no
// checkpoint is deleted. A folder whose manifest this version cannot read is not counted and not
// deleted, because it belongs to another program. Failures are logged to standard error and do
// not invalidate `written`.
void delete_old_checkpoints(const std::filesystem::path& written,
                            std::optional<std::size_t> total_limit);

}  // namespace accel::runtime
