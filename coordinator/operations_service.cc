#include "coordinator/operations_service.h"

#include "common/grpc_status.h"
#include "coordinator/wire.h"

namespace accel::coordinator {
namespace {

constexpr WireBounds kBounds{4096, 64};

}  // namespace

grpc::ServerUnaryReactor* OperationsService::DrainNode(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* bytes,
                                                       grpc::ByteBuffer* answer) {
  grpc::ServerUnaryReactor* call = context->DefaultReactor();
  absl::StatusOr<Admission> admission = entrance_.Admit(*context, Method::kDrainNode);
  v1::DrainNodeRequest request;
  const absl::Status valid = admission.ok() ? Parse(*bytes, kBounds, &request) : admission.status();
  if (!valid.ok()) {
    call->Finish(common::ToGrpc(valid));
    return call;
  }
  *answer = ToBytes(v1::DrainNodeResponse());
  coordinator_.DrainNode(request.node(), request.drain(),
                         [this, call, admitted = *admission, peer = context->peer(),
                          node = request.node()](const absl::Status& status) {
                           entrance_.Note(admitted.caller, peer, "drain", node, status);
                           call->Finish(common::ToGrpc(status));
                         });
  return call;
}

}  // namespace accel::coordinator
