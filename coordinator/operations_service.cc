#include "coordinator/operations_service.h"

#include "coordinator/wire.h"
#include "proto/service.grpc.pb.h"

namespace accel::coordinator {
namespace {

constexpr WireBounds kBounds{4096, 64};

}  // namespace

Handlers OperationsService::handlers() {
  return HandlersOf(this, v1::Operations::service_full_name())
      .Request("DrainNode", &OperationsService::DrainNode)
      .Take();
}

void OperationsService::DrainNode(ServerCall* call) {
  absl::StatusOr<Admission> admission = entrance_.Admit(call->context(), Method::kDrainNode);
  if (!admission.ok()) return call->Finish(admission.status());
  v1::DrainNodeRequest request;
  const absl::Status valid = Parse(call->request(), kBounds, &request);
  if (!valid.ok()) return call->Finish(valid);
  coordinator_.DrainNode(request.node(), request.drain(),
                         [this, call, admitted = *admission, peer = call->peer(),
                          node = request.node()](const absl::Status& status) {
                           entrance_.Note(admitted.caller, peer, "drain", node, status);
                           if (!status.ok()) return call->Finish(status);
                           call->FinishWith(ToBytes(v1::DrainNodeResponse()));
                         });
}

}  // namespace accel::coordinator
