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
  grpc::Status admitted = authentication_.Check(*context);
  v1::DrainNodeRequest request;
  if (admitted.ok()) admitted = common::ToGrpc(Parse(*bytes, kBounds, &request));
  if (!admitted.ok()) {
    call->Finish(admitted);
    return call;
  }
  *answer = ToBytes(v1::DrainNodeResponse());
  coordinator_.DrainNode(request.node(), request.drain(), [call](const absl::Status& status) {
    call->Finish(common::ToGrpc(status));
  });
  return call;
}

}  // namespace accel::coordinator
