#include "coordinator/operations_service.h"

#include "coordinator/admit_request.h"
#include "coordinator/wire.h"
#include "proto/service.grpc.pb.h"

namespace accel::coordinator {
namespace {

constexpr WireBounds kBounds{4096, 64};

}  // namespace

void OperationsService::AddTo(Handlers* handlers) {
  HandlerAdder(this, v1::Operations::service_full_name(), handlers)
      .Add("DrainNode", &OperationsService::DrainNode);
}

void OperationsService::DrainNode(ServerCall* call) {
  AdmitRequest<v1::DrainNodeRequest>(
      call, &entrance_, Method::kDrainNode, kBounds,
      [this, call](const Admission& admission, const v1::DrainNodeRequest& request) {
        coordinator_.DrainNode(request.node(), request.drain(),
                               [this, call, admission, peer = call->peer(),
                                node = request.node()](const absl::Status& status) {
                                 entrance_.Note(admission.caller, peer, "drain", node, status);
                                 if (!status.ok()) return call->Finish(status);
                                 call->FinishWith(ToBytes(v1::DrainNodeResponse()));
                               });
      });
}

}  // namespace accel::coordinator
