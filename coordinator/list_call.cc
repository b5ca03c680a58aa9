#include "coordinator/list_call.h"

#include "absl/strings/str_cat.h"
#include "coordinator/wire.h"

namespace accel::coordinator {

void ListCall::Answer(const google::protobuf::Message& message) {
  const int64_t bytes = static_cast<int64_t>(message.ByteSizeLong());
  if (!room_->Take(bytes)) {
    return Fail(absl::ResourceExhaustedError(
        absl::StrCat("answers that other callers have not yet read leave no room (at most ",
                     AnswerRoom::kMaxBytes, " bytes are kept); try again later")));
  }
  taken_ = bytes;
  call_.FinishWith(ToBytes(message));
}

}  // namespace accel::coordinator
