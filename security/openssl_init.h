// Prepares OpenSSL. Every program that uses TLS calls this first, before gRPC does.
#pragma once

namespace accel::security {

// Initializes OpenSSL without its configuration file, because openssl.cnf and OPENSSL_CONF could
// load modules and policies of the host into a daemon (docs/decisions/0054). Further calls have no
// effect. Thread-safe.
void InitOpenSsl();

}  // namespace accel::security
