#include "security/openssl_handles.h"

#include <openssl/err.h>

#include "absl/strings/str_cat.h"

namespace accel::security {

absl::Status OpenSslError(absl::string_view what) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  absl::Status status =
      absl::InternalError(absl::StrCat(what, reason == nullptr ? "" : ": ", reason ? reason : ""));
  ERR_clear_error();
  return status;
}

void DropOpenSslErrors() { ERR_clear_error(); }

BioHandle ReadFrom(absl::string_view text) {
  return BioHandle(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string TextOf(BIO* bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  return std::string(text, static_cast<size_t>(size));
}

}  // namespace accel::security
