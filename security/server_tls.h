// What a server shows and whom it trusts. server_credentials.h uses it.
#pragma once

#include <string>

namespace accel::security {

// Each is PEM.
struct ServerTls {
  std::string key;
  std::string certificate;         // The leaf, followed by its authority.
  std::string client_authorities;  // Those that may have signed a client's certificate.
};

}  // namespace accel::security
