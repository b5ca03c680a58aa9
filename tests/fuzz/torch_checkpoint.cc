// Checkpoints of torch, which people download: the metadata of torch.distributed.checkpoint, and
// archives of torch.save().
#include <string_view>

#include "common/check.h"
#include "common/checkpoint_error.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"
#include "weights/core/dcp_metadata.h"
#include "weights/core/torch_archive.h"

namespace accel::weights {
namespace {

void CheckMetadata(std::string_view bytes) {
  const DcpMetadata metadata = parse_dcp_metadata(bytes, ".metadata");
  for (const auto& [name, tensor] : metadata.tensors) {
    for (const DcpChunk& chunk : tensor.chunks) {
      ACCEL_CHECK(fits(chunk.box, tensor.shape, element_size(tensor.dtype)),
                  "each part lies in its tensor");
      ACCEL_CHECK(chunk.slice.file.find('/') == std::string::npos, "each file is in the folder");
    }
  }
}

void CheckArchive(std::string_view bytes) {
  for (const ArchiveEntry& entry : archive_entries(bytes, bytes.size(), "archive")) {
    if (entry.header >= bytes.size()) continue;
    const std::uint64_t begin =
        data_begin(entry, bytes.substr(entry.header, kLocalHeader), bytes.size(), "archive");
    ACCEL_CHECK(begin <= bytes.size() && entry.size <= bytes.size() - begin,
                "each entry lies in the archive");
    parse_archived_tensor(bytes.substr(begin, entry.size), "archive");
  }
}

void CheckPickle(std::string_view bytes) {
  const ArchivedTensor tensor = parse_archived_tensor(bytes, "data.pkl");
  ACCEL_CHECK(fits(whole(tensor.shape), tensor.shape, element_size(tensor.dtype)),
              "the size of the tensor does not overflow");
}

}  // namespace

FUZZ_TARGET(text) {
  const std::string_view bytes(text.data(), text.size());
  for (const auto check : {CheckMetadata, CheckArchive, CheckPickle}) {
    try {
      check(bytes);
    } catch (const CheckpointError& error) {
      fuzz::CheckMessage(error.what());
    }
  }
}

}  // namespace accel::weights
