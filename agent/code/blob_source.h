// The interface through which an agent fetches blobs from the coordinator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "proto/blobs.pb.h"

namespace accel::agent {

// One stream of blobs. One thread reads it, and other threads may cancel it.
class BlobReader {
 public:
  virtual ~BlobReader() = default;

  // Blocks until the next piece of a blob arrives. Returns false once the stream has ended.
  virtual bool Read(v1::BlobChunk* chunk) = 0;
  // Returns why the stream has ended. Called once, after Read() has returned false.
  virtual absl::Status Finish() = 0;
  // Makes the stream end soon. Thread-safe.
  virtual void Cancel() = 0;
};

// Thread-safe.
class BlobSource {
 public:
  virtual ~BlobSource() = default;

  // Begins to read these blobs of a job's upload, in this order. Does not block. The source must
  // outlive the stream.
  virtual std::unique_ptr<BlobReader> Get(const common::JobId& job,
                                          const std::vector<std::string>& hashes) = 0;
};

}  // namespace accel::agent
