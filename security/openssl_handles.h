// Owners of OpenSSL's objects, and OpenSSL's errors as a Status. Only files below security/
// include this file.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace accel::security {

template <auto kFree>
struct OpenSslDeleter {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using BioHandle = std::unique_ptr<BIO, OpenSslDeleter<BIO_free_all>>;
using KeyHandle = std::unique_ptr<EVP_PKEY, OpenSslDeleter<EVP_PKEY_free>>;
using KeyContextHandle = std::unique_ptr<EVP_PKEY_CTX, OpenSslDeleter<EVP_PKEY_CTX_free>>;
using X509Handle = std::unique_ptr<X509, OpenSslDeleter<X509_free>>;
using RequestHandle = std::unique_ptr<X509_REQ, OpenSslDeleter<X509_REQ_free>>;
using StoreHandle = std::unique_ptr<X509_STORE, OpenSslDeleter<X509_STORE_free>>;
using StoreContextHandle = std::unique_ptr<X509_STORE_CTX, OpenSslDeleter<X509_STORE_CTX_free>>;
using NamesHandle = std::unique_ptr<GENERAL_NAMES, OpenSslDeleter<GENERAL_NAMES_free>>;
using ExtensionHandle = std::unique_ptr<X509_EXTENSION, OpenSslDeleter<X509_EXTENSION_free>>;
using BignumHandle = std::unique_ptr<BIGNUM, OpenSslDeleter<BN_free>>;
using SslContextHandle = std::unique_ptr<SSL_CTX, OpenSslDeleter<SSL_CTX_free>>;
using SslHandle = std::unique_ptr<SSL, OpenSslDeleter<SSL_free>>;

// Returns INTERNAL with `what` and OpenSSL's reason, and empties the thread's queue of errors.
absl::Status OpenSslError(absl::string_view what);

// Empties the thread's queue of errors. Called after an error that is reported
// without OpenSSL's reason.
void DropOpenSslErrors();

// Returns a BIO that reads `text`, which must outlive the BIO.
BioHandle ReadFrom(absl::string_view text);

// Returns all that was written to a memory BIO.
std::string TextOf(BIO* bio);

}  // namespace accel::security
