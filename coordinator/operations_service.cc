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
  const absl::StatusOr<Caller> caller = entrance_.Admit(*context, Method::kDrainNode);
  v1::DrainNodeRequest request;
  const absl::Status admitted = caller.ok() ? Parse(*bytes, kBounds, &request) : caller.status();
  if (!admitted.ok()) {
    call->Finish(common::ToGrpc(admitted));
    return call;
  }
  *answer = ToBytes(v1::DrainNodeResponse());
  coordinator_.DrainNode(request.node(), request.drain(),
                         [this, call, who = *caller, peer = context->peer(),
                          node = request.node()](const absl::Status& status) {
                           entrance_.Note(who, peer, "drain", node, status);
                           call->Finish(common::ToGrpc(status));
                         });
  return call;
}

}  // namespace accel::coordinator
