#include "coordinator/members/access_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/access/entrance.h"
#include "coordinator/admit_request.h"
#include "coordinator/wire.h"
#include "proto/access.grpc.pb.h"

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

void AccessService::AddTo(Handlers* handlers) {
  HandlerAdder(this, v1::Access::service_full_name(), handlers)
      .Add("AddToken", &AccessService::AddToken)
      .Add("ListMembers", &AccessService::ListMembers)
      .Add("Revoke", &AccessService::Revoke)
      .Add("RemoveMember", &AccessService::RemoveMember)
      .Add("WhoAmI", &AccessService::WhoAmI)
      .Add("Renew", &AccessService::Renew);
}

template <typename Request, typename Response, typename Invoke>
void AccessService::Serve(Method method, ServerCall* call, Invoke invoke) {
  Entrance& entrance = slot_.entrance();
  auto serve = [call, &entrance, method, invoke](const Admission& admission, Request request) {
    auto finish = [call, &entrance, method, admission, peer = call->peer(),
                   object = ObjectOf(request)](absl::StatusOr<Response> response) {
      if (const absl::string_view action = ActionOf(method); !action.empty()) {
        entrance.Note(admission.caller, peer, action, object, response.status());
      }
      if (!response.ok()) return call->Finish(response.status());
      call->FinishWith(ToBytes(*response));
    };
    invoke(admission.caller, std::move(request), std::move(finish));
  };
  AdmitRequest<Request>(call, &entrance, method, kBounds, serve);
}

void AccessService::AddToken(ServerCall* call) {
  Serve<v1::AddTokenRequest, v1::AddTokenResponse>(
      Method::kAddToken, call, [this](const auto&, auto request, auto done) {
        desk_.AddToken(std::move(request), std::move(done));
      });
}

void AccessService::ListMembers(ServerCall* call) {
  Serve<v1::ListMembersRequest, v1::ListMembersResponse>(
      Method::kListMembers, call, [this](const auto&, auto request, auto done) {
        desk_.ListMembers(request, std::move(done));
      });
}

void AccessService::Revoke(ServerCall* call) {
  Serve<v1::RevokeRequest, v1::RevokeResponse>(Method::kRevoke, call,
                                               [this](const auto&, auto request, auto done) {
                                                 desk_.Revoke(std::move(request), std::move(done));
                                               });
}

void AccessService::RemoveMember(ServerCall* call) {
  Serve<v1::RemoveMemberRequest, v1::RemoveMemberResponse>(
      Method::kRemoveMember, call, [this](const auto&, auto request, auto done) {
        desk_.RemoveMember(std::move(request), std::move(done));
      });
}

void AccessService::WhoAmI(ServerCall* call) {
  Serve<v1::WhoAmIRequest, v1::WhoAmIResponse>(Method::kWhoAmI, call,
                                               [this](const auto& caller, const auto&, auto done) {
                                                 v1::WhoAmIResponse response;
                                                 response.set_kind(KindOf(caller));
                                                 response.set_name(caller.name);
                                                 response.set_role(RoleOf(caller));
                                                 response.set_serial(caller.serial);
                                                 response.set_cluster_id(cluster_id_);
                                                 done(std::move(response));
                                               });
}

void AccessService::Renew(ServerCall* call) {
  Serve<v1::RenewRequest, v1::RenewResponse>(Method::kRenew, call,
                                             [this](const auto& caller, auto request, auto done) {
                                               desk_.Renew(caller.serial, request, std::move(done));
                                             });
}

}  // namespace accel::coordinator
