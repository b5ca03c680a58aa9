#include "rendezvous/core/session.h"

#include <algorithm>
#include <cstdint>

#include "common/check.h"
#include "common/status_macros.h"
#include "rendezvous/core/reply_writer.h"

namespace accel::rendezvous {
namespace {

constexpr size_t kLeastRead = 4096;
constexpr size_t kUsualRead = 64 << 10;

}  // namespace

absl::StatusOr<absl::Span<char>> Session::ReadTarget(absl::Span<char> scratch) {
  if (partial_.empty()) return scratch;
  // Reserves at most 64 KiB, or as much as the client has sent so far, because a large announced
  // length alone must not reserve memory.
  const size_t trusted = std::max(kUsualRead, partial_.size());
  const size_t missing = std::max(parser_.needed() - partial_.size(), kLeastRead);
  const size_t room = std::min(missing, trusted);
  if (!partial_.Reserve(room)) return absl::ResourceExhaustedError("the store is full");
  return absl::Span<char>(partial_.tail(), room);
}

absl::Status Session::Receive(absl::string_view bytes, ByteBuffer* reply,
                              std::vector<ConnectionId>* woken) {
  if (partial_.empty()) {
    ACCEL_ASSIGN_OR_RETURN(const size_t done, ProcessWhole(bytes, reply, woken));
    if (partial_.Append(bytes.substr(done))) return absl::OkStatus();
    return absl::ResourceExhaustedError("the store is full");
  }
  ACCEL_CHECK(bytes.data() == partial_.tail(), "the bytes must be in the last ReadTarget()");
  partial_.Extend(bytes.size());
  ACCEL_ASSIGN_OR_RETURN(const size_t done, ProcessWhole(partial_.view(), reply, woken));
  if (done == partial_.size()) {
    partial_.Free();
  } else {
    partial_.RemovePrefix(done);
  }
  return absl::OkStatus();
}

// Returns the number of bytes in the complete requests.
absl::StatusOr<size_t> Session::ProcessWhole(absl::string_view bytes, ByteBuffer* reply,
                                             std::vector<ConnectionId>* woken) {
  size_t done = 0;
  while (done < bytes.size()) {
    // Before the validation, only a query of type kValidate is parsed. It has five bytes, so a
    // client that is not validated cannot make the session keep more.
    if (!validated_ && bytes[done] != static_cast<char>(QueryType::kValidate)) {
      return absl::InvalidArgumentError("the first query is not a validation");
    }
    Request request;
    ACCEL_ASSIGN_OR_RETURN(const size_t length, parser_.Parse(bytes.substr(done), &request));
    if (length == 0) break;
    ACCEL_RETURN_IF_ERROR(Handle(request, reply, woken));
    done += length;
  }
  return done;
}

absl::Status Session::Handle(const Request& request, ByteBuffer* reply,
                             std::vector<ConnectionId>* woken) {
  if (request.type == QueryType::kValidate) {
    if (validated_) return absl::InvalidArgumentError("a second validation");
    if (request.number != int64_t{kValidationMagic}) {
      return absl::InvalidArgumentError("validation with a wrong number");
    }
    validated_ = true;
    return absl::OkStatus();
  }
  if (request.type == QueryType::kPing) {
    if (AppendNumber(static_cast<uint32_t>(request.number), reply)) return absl::OkStatus();
    return absl::ResourceExhaustedError("the store is full");
  }
  return state_->Apply(id_, request, reply, woken);
}

}  // namespace accel::rendezvous
