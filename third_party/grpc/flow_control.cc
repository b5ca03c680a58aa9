// gRPC's flow control, with fewer announcements.
//
// A receiver announces how much the sender of a stream may still send (WINDOW_UPDATE in RFC 9113,
// section 6.9). gRPC 1.51 announces this after each message, as soon as the next read begins, even
// if the sender may still send 64 KiB. So each report of an agent cost the coordinator a write, and
// each start cost the agent one, which woke the other end for nothing. Later versions of gRPC
// announce only once the sender has used half of what it may send
// (https://github.com/grpc/grpc/pull/34265). repository.bzl makes the source do the same
// (docs/decisions/0095).

#include "flow_control.inc"

#include "third_party/grpc/same_types.h"
