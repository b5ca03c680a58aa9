#include "coordinator/members/access_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "coordinator/access/entrance.h"
#include "coordinator/wire.h"

namespace accel::coordinator {
namespace {

// The bounds of a request. The largest one has a CSR of 4 KiB.
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

// Returns the audit log's name for a method, or "" for a method that changes nothing.
absl::string_view ActionOf(Method method) {
  switch (method) {
    case Method::kAddToken:
      return "add_key";
    case Method::kRevoke:
      return "revoke";
    case Method::kRemoveMember:
      return "remove";
    case Method::kRenew:
      return "renew";
    default:
      return "";
  }
}

std::string MemberText(v1::MemberKind kind, const std::string& member) {
  return absl::StrCat(kind == v1::NODE_MEMBER ? "node" : "user", member.empty() ? "" : " ", member);
}

// Returns the object of a request, for the audit log. It contains no secret.
std::string ObjectOf(const v1::AddTokenRequest& request) {
  std::string object = MemberText(request.kind(), request.member());
  if (request.kind() == v1::USER_MEMBER && request.changes_role()) {
    absl::StrAppend(&object, " as ", v1::UserRole_Name(request.role()));
  }
  return object;
}
std::string ObjectOf(const v1::RevokeRequest& request) {
  if (!request.token().empty()) return absl::StrCat("key ", request.token());
  return absl::StrCat(MemberText(request.kind(), request.member()),
                      request.serial().empty() ? "" : " ", request.serial());
}
std::string ObjectOf(const v1::RemoveMemberRequest& request) {
  return MemberText(request.kind(), request.member());
}
template <typename Request>
std::string ObjectOf(const Request&) {
  return "";
}

}  // namespace

template <typename Request, typename Response, typename Invoke>
grpc::ServerUnaryReactor* AccessService::Serve(Method method, grpc::CallbackServerContext* context,
                                               const grpc::ByteBuffer* bytes,
                                               grpc::ByteBuffer* answer, Invoke invoke) {
  grpc::ServerUnaryReactor* const call = context->DefaultReactor();
  Entrance& entrance = slot_.entrance();
  absl::StatusOr<Admission> admission = entrance.Admit(*context, method);
  Request request;
  absl::Status status = admission.status();
  if (status.ok()) status = Parse(*bytes, kBounds, &request);
  if (!status.ok()) {
    call->Finish(common::ToGrpc(status));
    return call;
  }
  const std::string object = ObjectOf(request);
  const Caller caller = admission->caller;
  auto finish = [call, answer, &entrance, method, admitted = *std::move(admission),
                 peer = context->peer(), object](absl::StatusOr<Response> response) {
    if (const absl::string_view action = ActionOf(method); !action.empty()) {
      entrance.Note(admitted.caller, peer, action, object, response.status());
    }
    if (response.ok()) *answer = ToBytes(*response);
    call->Finish(common::ToGrpc(response.status()));
  };
  invoke(caller, std::move(request), std::move(finish));
  return call;
}

grpc::ServerUnaryReactor* AccessService::AddToken(grpc::CallbackServerContext* context,
                                                  const grpc::ByteBuffer* bytes,
                                                  grpc::ByteBuffer* answer) {
  return Serve<v1::AddTokenRequest, v1::AddTokenResponse>(
      Method::kAddToken, context, bytes, answer, [this](const auto&, auto request, auto done) {
        desk_.AddToken(std::move(request), std::move(done));
      });
}

grpc::ServerUnaryReactor* AccessService::ListMembers(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* bytes,
                                                     grpc::ByteBuffer* answer) {
  return Serve<v1::ListMembersRequest, v1::ListMembersResponse>(
      Method::kListMembers, context, bytes, answer, [this](const auto&, auto request, auto done) {
        desk_.ListMembers(request, std::move(done));
      });
}

grpc::ServerUnaryReactor* AccessService::Revoke(grpc::CallbackServerContext* context,
                                                const grpc::ByteBuffer* bytes,
                                                grpc::ByteBuffer* answer) {
  return Serve<v1::RevokeRequest, v1::RevokeResponse>(
      Method::kRevoke, context, bytes, answer, [this](const auto&, auto request, auto done) {
        desk_.Revoke(std::move(request), std::move(done));
      });
}

grpc::ServerUnaryReactor* AccessService::RemoveMember(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* bytes,
                                                      grpc::ByteBuffer* answer) {
  return Serve<v1::RemoveMemberRequest, v1::RemoveMemberResponse>(
      Method::kRemoveMember, context, bytes, answer, [this](const auto&, auto request, auto done) {
        desk_.RemoveMember(std::move(request), std::move(done));
      });
}

grpc::ServerUnaryReactor* AccessService::WhoAmI(grpc::CallbackServerContext* context,
                                                const grpc::ByteBuffer* bytes,
                                                grpc::ByteBuffer* answer) {
  return Serve<v1::WhoAmIRequest, v1::WhoAmIResponse>(
      Method::kWhoAmI, context, bytes, answer, [this](const auto& caller, const auto&, auto done) {
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
      Method::kRenew, context, bytes, answer, [this](const auto& caller, auto request, auto done) {
        desk_.Renew(caller.serial, request, std::move(done));
      });
}

}  // namespace accel::coordinator
