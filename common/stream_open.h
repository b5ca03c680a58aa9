// The sign by which a coordinator says that it has accepted a call that it answers with a stream.
#pragma once

namespace accel::common {

// The key of initial metadata that is sent immediately, because the first message of such a stream
// may take hours. A call that fails has no such metadata.
inline constexpr char kStreamOpen[] = "accel-stream-open";

}  // namespace accel::common
