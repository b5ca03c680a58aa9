// What must hold for each refusal of an input, whatever the input was.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace accel::fuzz {

// Aborts unless `message` says something, is at most 4 KiB long, and consists of lines that
// common::Printable() would not change.
void CheckMessage(absl::string_view message);

// Aborts unless `refusal` is an error with such a message.
void CheckRefusal(const absl::Status& refusal);

}  // namespace accel::fuzz
