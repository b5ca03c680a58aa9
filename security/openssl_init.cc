#include "security/openssl_init.h"

#include <openssl/ssl.h>

#include "common/check.h"

namespace accel::security {

void InitOpenSsl() {
  // gRPC's own call does not load a configuration later, because OpenSSL performs this
  // step only once.
  ACCEL_CHECK(OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr) == 1,
              "OpenSSL starts without a configuration file");
}

}  // namespace accel::security
