// Ends the compilation of a file of gRPC if its types could differ from those in the system's gRPC,
// with which it is linked.
#pragma once

#include <grpcpp/version_info.h>

// NDEBUG changes the layout of types in gRPC's headers, and Debian builds gRPC without it.
#ifdef NDEBUG
#error "The types would differ from those of the system's gRPC."
#endif
static_assert(GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR == 51 &&
                  GRPC_CPP_VERSION_PATCH == 1,
              "tools/setup has unpacked the source of another version than the system's gRPC");
