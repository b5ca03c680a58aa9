// The caller of a method, as the coordinator has identified it. A caller over TCP is identified by
// a certificate and the table of credentials, and a caller over a Unix socket by the kernel.
// Handlers pass the caller on, and the coordinator's loop compares it with the owner of a job.
#pragma once

#include <string>

namespace accel::coordinator {

enum class CallerKind {
  kOwner,  // The user who runs the coordinator, or root, over the Unix socket: commands and agents.
  kUser,   // A user, by certificate.
  kNode,   // An agent, by certificate. It acts for one node.
};

// The rights of a user. Each role includes the roles before it.
enum class Role { kViewer, kUser, kAdmin };

struct Caller {
  CallerKind kind = CallerKind::kUser;
  std::string name;           // The user's name, or the node's id.
  std::string serial;         // The serial of the certificate. Empty over the Unix socket.
  Role role = Role::kViewer;  // The role of a user.

  friend bool operator==(const Caller&, const Caller&) = default;
};

// Returns the owner, for callers within the process.
inline Caller Owner() { return {CallerKind::kOwner, "", "", Role::kAdmin}; }

// Returns true if the caller may do everything to every job: the owner and administrators.
inline bool IsAdmin(const Caller& caller) {
  return caller.kind == CallerKind::kOwner ||
         (caller.kind == CallerKind::kUser && caller.role == Role::kAdmin);
}

}  // namespace accel::coordinator
