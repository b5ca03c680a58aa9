// The key and certificate that a server presents, and the authorities that it
// trusts. For server_credentials.h.
#pragma once

#include <string>

namespace accel::security {

// Each is PEM.
struct ServerTls {
  std::string key;
  std::string certificate;  // The leaf, followed by its authority.
  // The authorities that may have signed a client's certificate.
  std::string client_authorities;
};

}  // namespace accel::security
