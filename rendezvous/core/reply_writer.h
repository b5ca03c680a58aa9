// Functions that encode replies into a buffer. They return false if there is no room.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "rendezvous/core/byte_buffer.h"

namespace accel::rendezvous {

template <typename T>
[[nodiscard]] bool AppendNumber(T value, ByteBuffer* out) {
  return out->Append(absl::string_view(reinterpret_cast<const char*>(&value), sizeof(value)));
}

[[nodiscard]] inline bool AppendString(absl::string_view bytes, ByteBuffer* out) {
  // Reserves the whole size first, so that a reply that does not fit leaves no part in the buffer.
  return out->Reserve(sizeof(uint64_t) + bytes.size()) &&
         AppendNumber<uint64_t>(bytes.size(), out) && out->Append(bytes);
}

}  // namespace accel::rendezvous
