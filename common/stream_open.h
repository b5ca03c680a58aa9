// The metadata by which a coordinator confirms that it has accepted a call with a
// stream of answers.
#pragma once

namespace accel::common {

// The key of this metadata. The coordinator sends it immediately, because the first message of such
// a stream may come hours later. A call that is refused has no such metadata.
inline constexpr char kStreamOpen[] = "accel-stream-open";

}  // namespace accel::common
