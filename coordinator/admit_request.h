// Methods with one request: the call is admitted, and then its request is read and parsed.
#pragma once

#include <utility>

#include "coordinator/access/entrance.h"
#include "coordinator/calls/server_call.h"
#include "coordinator/wire.h"

namespace accel::coordinator {

// Admits a call, then reads its request and calls `serve` with both, as
// serve(Admission, Request). A call that is not admitted or has no valid request ends with the
// error of Entrance::Admit() or Parse(). The call is admitted before its request is read, because
// the calls that a caller may have at a time are bounded, and because a stranger learns nothing
// else.
template <typename Request, typename Serve>
void AdmitRequest(ServerCall* call, Entrance* entrance, Method method, const WireBounds& bounds,
                  Serve serve) {
  absl::StatusOr<Admission> admission = entrance->Admit(call->context(), method);
  if (!admission.ok()) return call->Finish(admission.status());
  call->ReadRequest([call, bounds, admitted = *std::move(admission),
                     serve = std::move(serve)](const grpc::ByteBuffer& bytes) mutable {
    Request request;
    const absl::Status valid = Parse(bytes, bounds, &request);
    if (!valid.ok()) return call->Finish(valid);
    serve(std::move(admitted), std::move(request));
  });
}

}  // namespace accel::coordinator
