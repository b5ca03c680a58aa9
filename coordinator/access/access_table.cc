#include "coordinator/access/access_table.h"

#include "absl/strings/str_cat.h"

namespace accel::coordinator {
namespace {

// The bound of most calls. Most take milliseconds. An agent has one stream, and may have older
// streams that are not over yet.
constexpr int kCalls = 64;
// The bound of watches and readings of one user. People watch hundreds of jobs at a time. All users
// together have Watchers::kMaxWatchers.
constexpr int kWatches = 1'024;
// The bound of relays of one node, of which an agent has 128 at a time. It is far above that,
// because relays of broken connections may not be over yet, and an agent does not begin a
// refused relay again.
constexpr int kRelays = 8'192;
// The bound of calls that carry blobs, each of which holds a megabyte or more. An agent or a client
// has at most four at a time. Cancelled ones may not be over yet.
constexpr int kUploads = 8;

// clang-format off
constexpr AccessRule kRules[] = {
    // method              name                               least role     nodes  owner  at once
    {Method::kSubmitJob,    "accel.v1.Coordinator.SubmitJob", Role::kUser,   false, true, kCalls},
    {Method::kListJobs,     "accel.v1.Coordinator.ListJobs",  Role::kViewer, false, true, kCalls},
    {Method::kWatchJob,     "accel.v1.Coordinator.WatchJob",  Role::kViewer, false, true, kWatches},
    {Method::kCancelJob,    "accel.v1.Coordinator.CancelJob", Role::kUser,   false, true, kCalls},
    {Method::kListNodes,    "accel.v1.Coordinator.ListNodes", Role::kViewer, false, true, kCalls},
    {Method::kReadLogs,     "accel.v1.Coordinator.ReadLogs",  Role::kUser,   false, true, kWatches},
    // The owner's agents are those of the coordinator's machine.
    {Method::kAgent,        "accel.v1.Coordinator.Agent",     std::nullopt,  true,  true, kCalls},
    {Method::kRelayLogs,    "accel.v1.Coordinator.RelayLogs", std::nullopt,  true,  true, kRelays},
    {Method::kDrainNode,    "accel.v1.Operations.DrainNode",  Role::kAdmin,  false, true, kCalls},
    {Method::kAddToken,     "accel.v1.Access.AddToken",       Role::kAdmin,  false, true, kCalls},
    {Method::kListMembers,  "accel.v1.Access.ListMembers",    Role::kAdmin,  false, true, kCalls},
    {Method::kRevoke,       "accel.v1.Access.Revoke",         Role::kAdmin,  false, true, kCalls},
    {Method::kRemoveMember, "accel.v1.Access.RemoveMember",   Role::kAdmin,  false, true, kCalls},
    {Method::kWhoAmI,       "accel.v1.Access.WhoAmI",         Role::kViewer, true,  true, kCalls},
    // The owner has no certificate, so the call fails with an error that says so.
    {Method::kRenew,        "accel.v1.Access.Renew",          Role::kViewer, true,  true, kCalls},
    {Method::kHasBlobs,     "accel.v1.Blobs.Has",             Role::kUser,   false, true, kCalls},
    {Method::kPutBlobs,     "accel.v1.Blobs.Put",             Role::kUser,   false, true, kUploads},
    // Nodes read what the jobs that are placed on them need.
    {Method::kGetBlobs,     "accel.v1.Blobs.Get",             Role::kUser,   true,  true, kUploads},
};
// clang-format on

absl::string_view NameOf(Role role) {
  switch (role) {
    case Role::kViewer:
      return "viewer";
    case Role::kUser:
      return "user";
    case Role::kAdmin:
      return "admin";
  }
  return "unknown";
}

bool IsAllowed(const Caller& caller, const AccessRule& rule) {
  switch (caller.kind) {
    case CallerKind::kOwner:
      return rule.owner;
    case CallerKind::kUser:
      return rule.users.has_value() && caller.role >= *rule.users;
    case CallerKind::kNode:
      return rule.nodes;
  }
  return false;
}

absl::Status Denied(const Caller& caller, const AccessRule& rule) {
  const absl::string_view method = rule.name.substr(rule.name.rfind('.') + 1);
  if (caller.kind == CallerKind::kNode) {
    return absl::PermissionDeniedError(absl::StrCat("a node may not call ", method));
  }
  if (!rule.users.has_value()) {
    return absl::PermissionDeniedError(absl::StrCat("only agents may call ", method));
  }
  return absl::PermissionDeniedError(absl::StrCat(method, " needs the role ", NameOf(*rule.users),
                                                  ", and ", caller.name, " has the role ",
                                                  NameOf(caller.role), "; ask an administrator"));
}

}  // namespace

absl::Span<const AccessRule> AccessRules() { return kRules; }

absl::StatusOr<AccessRule> CheckAccess(const Caller& caller, Method method) {
  for (const AccessRule& rule : kRules) {
    if (rule.method != method) continue;
    if (!IsAllowed(caller, rule)) return Denied(caller, rule);
    return rule;
  }
  return absl::PermissionDeniedError("the table of access does not name this method");
}

}  // namespace accel::coordinator
