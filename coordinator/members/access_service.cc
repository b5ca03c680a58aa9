#include "coordinator/members/access_service.h"

#include <utility>

#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "coordinator/wire.h"

namespace accel::coordinator {
namespace {

// The largest request has a CSR of 4 KiB.
constexpr WireBounds kBounds{16 << 10, 64};

std::string KindOf(const Caller& caller) {
  switch (caller.kind) {
    case CallerKind::kOwner:
      return "owner";
    case CallerKind::kUser:
      return "user";
    default:
      return "node";
  }
}

std::string RoleOf(const Caller& caller) {
  if (caller.kind == CallerKind::kNode) return "";
  if (IsAdmin(caller)) return "admin";
  return caller.role == Role::kUser ? "user" : "viewer";
}

}  // namespace

absl::StatusOr<Caller> AccessService::Admit(Needs needs,
                                            const grpc::CallbackServerContext& context) {
  ACCEL_ASSIGN_OR_RETURN(Caller caller, identify_(context));
  // Otherwise the gate would cut a connection that is used for these calls only.
  slot_.NoteValidCall(context.peer(), caller.serial);
  if (needs == Needs::kAdministrator && !IsAdmin(caller)) {
    return absl::PermissionDeniedError("only administrators may do this; see: accel whoami");
  }
  return caller;
}

template <typename Request, typename Response, typename Invoke>
grpc::ServerUnaryReactor* AccessService::Serve(Needs needs, grpc::CallbackServerContext* context,
                                               const grpc::ByteBuffer* bytes,
                                               grpc::ByteBuffer* answer, Invoke invoke) {
  grpc::ServerUnaryReactor* const call = context->DefaultReactor();
  const absl::StatusOr<Caller> caller = Admit(needs, *context);
  Request request;
  absl::Status status = caller.status();
  if (status.ok()) status = Parse(*bytes, kBounds, &request);
  if (!status.ok()) {
    call->Finish(common::ToGrpc(status));
    return call;
  }
  invoke(*caller, std::move(request), [call, answer](absl::StatusOr<Response> response) {
    if (response.ok()) *answer = ToBytes(*response);
    call->Finish(common::ToGrpc(response.status()));
  });
  return call;
}

grpc::ServerUnaryReactor* AccessService::AddToken(grpc::CallbackServerContext* context,
                                                  const grpc::ByteBuffer* bytes,
                                                  grpc::ByteBuffer* answer) {
  return Serve<v1::AddTokenRequest, v1::AddTokenResponse>(
      Needs::kAdministrator, context, bytes, answer, [this](const auto&, auto request, auto done) {
        desk_.AddToken(std::move(request), std::move(done));
      });
}

grpc::ServerUnaryReactor* AccessService::ListMembers(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* bytes,
                                                     grpc::ByteBuffer* answer) {
  return Serve<v1::ListMembersRequest, v1::ListMembersResponse>(
      Needs::kAdministrator, context, bytes, answer, [this](const auto&, auto request, auto done) {
        desk_.ListMembers(request, std::move(done));
      });
}

grpc::ServerUnaryReactor* AccessService::Revoke(grpc::CallbackServerContext* context,
                                                const grpc::ByteBuffer* bytes,
                                                grpc::ByteBuffer* answer) {
  return Serve<v1::RevokeRequest, v1::RevokeResponse>(
      Needs::kAdministrator, context, bytes, answer, [this](const auto&, auto request, auto done) {
        desk_.Revoke(std::move(request), std::move(done));
      });
}

grpc::ServerUnaryReactor* AccessService::RemoveMember(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* bytes,
                                                      grpc::ByteBuffer* answer) {
  return Serve<v1::RemoveMemberRequest, v1::RemoveMemberResponse>(
      Needs::kAdministrator, context, bytes, answer, [this](const auto&, auto request, auto done) {
        desk_.RemoveMember(std::move(request), std::move(done));
      });
}

grpc::ServerUnaryReactor* AccessService::WhoAmI(grpc::CallbackServerContext* context,
                                                const grpc::ByteBuffer* bytes,
                                                grpc::ByteBuffer* answer) {
  return Serve<v1::WhoAmIRequest, v1::WhoAmIResponse>(
      Needs::kAnyone, context, bytes, answer, [this](const auto& caller, const auto&, auto done) {
        v1::WhoAmIResponse response;
        response.set_kind(KindOf(caller));
        response.set_name(caller.name);
        response.set_role(RoleOf(caller));
        response.set_serial(caller.serial);
        response.set_cluster_id(cluster_id_);
        done(std::move(response));
      });
}

grpc::ServerUnaryReactor* AccessService::Renew(grpc::CallbackServerContext* context,
                                               const grpc::ByteBuffer* bytes,
                                               grpc::ByteBuffer* answer) {
  return Serve<v1::RenewRequest, v1::RenewResponse>(
      Needs::kAnyone, context, bytes, answer, [this](const auto& caller, auto request, auto done) {
        desk_.Renew(caller.serial, request, std::move(done));
      });
}

}  // namespace accel::coordinator
