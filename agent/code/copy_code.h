// Fills a folder with the files of an upload, in several threads. For place_code.h.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "agent/code/blob_cache.h"
#include "process/account.h"
#include "upload/core/tree.h"

namespace accel::agent {

// Copies the files of the tree out of the cache, with the rights of `owner`, into the empty folder
// that is open as `root`. `may_go_on` is asked between pieces of the work, by all threads.
// Errors: as for PlaceCode(). After an error a part of the files is left.
absl::Status CopyCode(const process::Account& owner, int root, const upload::Tree& tree,
                      BlobCache* cache, const std::function<bool()>& may_go_on);

}  // namespace accel::agent
