#include "coordinator/daemon.h"

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/boot_id.h"
#include "common/clock.h"
#include "common/coordinator_address.h"
#include "common/log.h"
#include "common/log_throttle.h"
#include "common/random_hex.h"
#include "common/service_notify.h"
#include "common/state_dir.h"
#include "common/status_macros.h"
#include "coordinator/blobs/blob_service.h"
#include "coordinator/blobs/blob_store.h"
#include "coordinator/clock_jumps.h"
#include "coordinator/core/records.h"
#include "coordinator/core/recover.h"
#include "coordinator/members/authority_files.h"
#include "coordinator/members/cluster_access.h"
#include "coordinator/members/coordinator_slot.h"
#include "coordinator/owner_name.h"
#include "coordinator/server.h"
#include "coordinator/store/sqlite_file.h"
#include "coordinator/store/sqlite_store.h"

namespace accel::coordinator {
namespace {

// Pause between two looks at the age of uploads.
constexpr absl::Duration kTidyPause = absl::Hours(1);
// Pause between two looks at the files of the authority, which `rotate-ca` changes, and at the wall
// clock, which may be set at any time.
constexpr int kLookMillis = 1000;

std::string StorePath(const CoordinatorFlags& flags) { return flags.state_dir + "/cluster.db"; }

absl::StatusOr<std::unique_ptr<SqliteFile>> OpenStore(const CoordinatorFlags& flags) {
  return SqliteFile::Open(StorePath(flags), SqliteFile::Missing::kIsAnError);
}

// Returns the cluster's id in the store, or a new one if nothing is stored yet.
absl::StatusOr<std::string> ClusterId(const CoordinatorFlags& flags) {
  const auto file = OpenStore(flags);
  if (!file.ok() && !absl::IsNotFound(file.status())) return file.status();
  if (file.ok()) {
    ACCEL_ASSIGN_OR_RETURN(const std::vector<Row> rows, (*file)->Read());
    for (const Row& row : rows) {
      v1::StoredCluster stored;
      if (row.key == kClusterKey && stored.ParseFromString(row.value)) return stored.cluster_id();
    }
  }
  return common::RandomHex();
}

// Reads or makes what a coordinator needs for certificates.
absl::StatusOr<std::unique_ptr<ClusterAccess>> OpenAccess(const CoordinatorFlags& flags) {
  std::string id;
  // Only the first start reads the store for the id. Later starts find the id in
  // the authority's files.
  if (access(absl::StrCat(flags.state_dir, "/ca.crt").c_str(), F_OK) != 0) {
    ACCEL_ASSIGN_OR_RETURN(id, ClusterId(flags));
  }
  ACCEL_ASSIGN_OR_RETURN(ClusterAuthority authority,
                         ReadOrMakeAuthority(flags.state_dir, id, absl::Now()));
  return ClusterAccess::Make(std::move(authority), absl::Now());
}

// Follows the steps of a rotation, which are made in the files (authority_files.h).
class RotationWatch {
 public:
  RotationWatch(std::string state_dir, ClusterAccess* access)
      : state_dir_(std::move(state_dir)), access_(*access) {}

  // Called every kLookMillis. After an error, the coordinator continues with the present authority,
  // and the next call tries again.
  void Look() {
    // The stamp is taken before the files are read, so that a change during the reading is noticed.
    const std::string stamp = AuthorityStamp(state_dir_);
    if (stamp == stamp_) return;
    const absl::Status followed = Follow();
    if (followed.ok()) {
      stamp_ = stamp;
    } else if (throttle_.Admit(common::SteadyClock()->Now()).has_value()) {
      common::LogError("cannot follow the rotation of the authority, retrying",
                       {{"why", followed.message()}});
    }
  }

 private:
  absl::Status Follow() {
    ACCEL_ASSIGN_OR_RETURN(ClusterAuthority authority, ReadAuthority(state_dir_));
    return access_.Use(std::move(authority), absl::Now());
  }

  const std::string state_dir_;
  ClusterAccess& access_;
  std::string stamp_;
  common::LogThrottle throttle_{absl::Minutes(1)};
};

// Keeps the server's certificate valid by the wall clock.
class CertificateWatch {
 public:
  explicit CertificateWatch(ClusterAccess* access) : access_(*access) {}

  // Called every kLookMillis.
  void Look() {
    const absl::Time now = common::SteadyClock()->Now();
    const absl::Time wall = absl::Now();
    if (const auto jump = jumps_.Note(now, wall)) {
      common::LogWarning(
          "the clock of this machine was set, or the machine was suspended; if the clock is wrong "
          "now, set it, because certificates are verified by it",
          {{"by", absl::FormatDuration(absl::Trunc(*jump, absl::Seconds(1)))}});
    }
    const absl::Status renewed = access_.RenewServer(wall);
    if (renewed.ok() || !throttle_.Admit(now).has_value()) return;
    common::LogError("cannot renew the server's certificate, retrying",
                     {{"why", renewed.message()}});
  }

 private:
  ClusterAccess& access_;
  ClockJumps jumps_;
  common::LogThrottle throttle_{absl::Hours(1)};
};

// Does the periodic work of a coordinator besides serving calls, until `stop_fd` is readable.
void AwaitStop(const CoordinatorFlags& flags, int stop_fd, ClusterAccess* access,
               BlobService* uploads) {
  RotationWatch rotation(flags.state_dir, access);
  CertificateWatch certificate(access);
  absl::Time next_tidy = common::SteadyClock()->Now();
  pollfd stop{stop_fd, POLLIN, 0};
  do {
    rotation.Look();
    certificate.Look();
    if (common::SteadyClock()->Now() < next_tidy) continue;
    uploads->Tidy(absl::Now());
    next_tidy = common::SteadyClock()->Now() + kTidyPause;
  } while (poll(&stop, 1, kLookMillis) != 1);
}

}  // namespace

absl::Status RunCoordinator(const CoordinatorFlags& flags, int stop_fd) {
  ACCEL_ASSIGN_OR_RETURN(const common::UniqueFd lock,
                         common::LockStateDir(flags.state_dir, "coordinator"));
  const common::ServiceNotify service;
  ServerOptions options;
  ACCEL_ASSIGN_OR_RETURN(options.socket, common::FindSocketPath(flags.socket));
  options.listen = flags.listen;
  options.owner = NameOfUser(geteuid());
  options.audit_log = flags.state_dir + "/audit.jsonl";
  options.limits.node_timeout = flags.node_timeout;
  options.limits.grow_after = flags.grow_after;
  ACCEL_ASSIGN_OR_RETURN(options.store, SqliteStore::Open(StorePath(flags)));
  ACCEL_ASSIGN_OR_RETURN(options.cluster_id, common::RandomHex());
  ACCEL_ASSIGN_OR_RETURN(const std::unique_ptr<ClusterAccess> access, OpenAccess(flags));
  options.cluster_id = access->cluster_id();
  options.on_access = [&](const AccessState& state, const AccessChanges& changes) {
    access->credentials()->Apply(state, changes);
  };
  ACCEL_ASSIGN_OR_RETURN(const auto blobs, BlobStore::Open({.path = flags.state_dir + "/blobs"}));
  CoordinatorSlot slot;
  BlobService uploads(blobs.get(), &slot);
  options.check_upload = [&](const std::string& user, const std::string& tree, auto done) {
    uploads.CheckUpload(user, tree, std::move(done));
  };
  access->AddTo(&options.handlers);
  uploads.AddTo(&options.handlers);
  options.on_enrolment = [&](common::UniqueFd fd) { access->TakeEnrolment(std::move(fd)); };
  if (!flags.listen.empty()) options.tcp_credentials = access->MakeCredentials();
  options.credentials = access->credentials();
  std::string address = absl::StrCat("unix:", options.socket);
  ACCEL_ASSIGN_OR_RETURN(const auto server, Server::Start(std::move(options)));
  access->Attach(server->coordinator(), server->entrance(), AddressForNewcomers(server->address()),
                 [&](const std::string& serial) { server->Cut(serial); });
  slot.Set(server->coordinator(), server->entrance(), "");
  std::printf("listening on %s\n", address.c_str());
  if (!flags.listen.empty()) {
    address = server->address();
    std::printf("listening on %s\n", address.c_str());
  }
  std::fflush(stdout);
  service.Ready(absl::StrCat("listening on ", address));
  AwaitStop(flags, stop_fd, access.get(), &uploads);
  common::LogInfo("asked to stop, shutting down");
  access->Detach();
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
