#include "security/openssl_init.h"

#include <openssl/ssl.h>

#include "common/check.h"

namespace accel::security {

void InitOpenSsl() {
  // Once initialized without a configuration, OpenSSL does not load one later, because gRPC's own
  // call finds the step done.
  ACCEL_CHECK(OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr) == 1,
              "OpenSSL starts without a configuration file");
}

}  // namespace accel::security
