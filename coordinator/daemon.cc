#include "coordinator/daemon.h"

#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/boot_id.h"
#include "common/coordinator_address.h"
#include "common/log.h"
#include "common/random_hex.h"
#include "common/service_notify.h"
#include "common/state_dir.h"
#include "common/status_macros.h"
#include "common/token.h"
#include "coordinator/core/recover.h"
#include "coordinator/server.h"
#include "coordinator/store/sqlite_file.h"
#include "coordinator/store/sqlite_store.h"

namespace accel::coordinator {
namespace {

std::string StorePath(const CoordinatorFlags& flags) { return flags.state_dir + "/cluster.db"; }

// Returns the name of this process's user, or its number if it has no name.
std::string UserName() {
  const passwd* user = getpwuid(geteuid());
  return user == nullptr ? absl::StrCat("uid ", geteuid()) : user->pw_name;
}

absl::StatusOr<std::unique_ptr<SqliteFile>> OpenStore(const CoordinatorFlags& flags) {
  return SqliteFile::Open(StorePath(flags), SqliteFile::Missing::kIsAnError);
}

}  // namespace

absl::Status RunCoordinator(const CoordinatorFlags& flags, int stop_fd) {
  ACCEL_ASSIGN_OR_RETURN(const common::UniqueFd lock,
                         common::LockStateDir(flags.state_dir, "coordinator"));
  const common::ServiceNotify service;
  ServerOptions options;
  ACCEL_ASSIGN_OR_RETURN(options.socket, common::FindSocketPath(flags.socket));
  options.listen = flags.listen;
  options.owner = UserName();
  options.audit_log = flags.state_dir + "/audit.jsonl";
  options.limits.node_timeout = flags.node_timeout;
  options.limits.grow_after = flags.grow_after;
  ACCEL_ASSIGN_OR_RETURN(options.store, SqliteStore::Open(StorePath(flags)));
  ACCEL_ASSIGN_OR_RETURN(options.cluster_id, common::RandomHex());
  if (!flags.listen.empty()) {
    ACCEL_ASSIGN_OR_RETURN(options.token, common::FindToken(flags.token_file, /*make=*/true));
  }
  std::string address = absl::StrCat("unix:", options.socket);
  ACCEL_ASSIGN_OR_RETURN(const auto server, Server::Start(std::move(options)));
  std::printf("listening on %s\n", address.c_str());
  if (!flags.listen.empty()) {
    address = server->address();
    std::printf("listening on %s\n", address.c_str());
  }
  std::fflush(stdout);
  service.Ready(absl::StrCat("listening on ", address));
  pollfd stop{stop_fd, POLLIN, 0};
  while (poll(&stop, 1, -1) != 1) {
  }
  common::LogInfo("asked to stop, shutting down");
  return absl::OkStatus();
}

absl::StatusOr<std::string> CheckStore(const CoordinatorFlags& flags) {
  ACCEL_ASSIGN_OR_RETURN(const auto file, OpenStore(flags));
  ACCEL_RETURN_IF_ERROR(file->Check());
  ACCEL_ASSIGN_OR_RETURN(const std::vector<Row> rows, file->Read());
  const Opening opening = {
      .now = absl::Now(), .wall = absl::Now(), .boot_id = common::BootId(), .cluster_id = ""};
  ACCEL_ASSIGN_OR_RETURN(const ClusterState state, Recover(rows, Limits(), opening));
  return absl::StrCat(StorePath(flags), " is in order: cluster ", state.facts.cluster_id, ", ",
                      DescribeRecovery(state));
}

absl::StatusOr<std::string> BackUpStore(const CoordinatorFlags& flags) {
  ACCEL_ASSIGN_OR_RETURN(const auto file, OpenStore(flags));
  ACCEL_RETURN_IF_ERROR(file->CopyTo(flags.backup));
  return absl::StrCat("copied ", StorePath(flags), " to ", flags.backup);
}

}  // namespace accel::coordinator
