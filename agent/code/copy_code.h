// Fills a folder with the files of an upload, in several threads. For place_code.h.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "agent/code/blob_cache.h"
#include "process/account.h"
#include "upload/core/tree.h"

namespace accel::agent {

// Copies the files of the tree from the cache into the empty folder that is open as `root`, with
// the rights of `owner`. All threads call `may_go_on` between pieces of the work. Errors are those
// of PlaceCode(). After an error, some of the files remain.
absl::Status CopyCode(const process::Account& owner, int root, const upload::Tree& tree,
                      BlobCache* cache, const std::function<bool()>& may_go_on);

}  // namespace accel::agent
