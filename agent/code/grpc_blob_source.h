// BlobSource over gRPC.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/code/blob_source.h"
#include "agent/session_channels.h"

namespace accel::agent {

class GrpcBlobSource final : public BlobSource {
 public:
  // Each call uses the channel of the present session, because a renewed certificate comes with
  // a new channel.
  explicit GrpcBlobSource(std::shared_ptr<SessionChannels> channels);

  std::unique_ptr<BlobReader> Get(const common::JobId& job,
                                  const std::vector<std::string>& hashes) override;

 private:
  const std::shared_ptr<SessionChannels> channels_;
};

}  // namespace accel::agent
