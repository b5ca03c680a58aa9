#include "agent/daemon.h"

#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/accounts.h"
#include "agent/agent.h"
#include "agent/base_env.h"
#include "agent/certificate_renewal.h"
#include "agent/channel.h"
#include "agent/code/fetched_code.h"
#include "agent/code/grpc_blob_source.h"
#include "agent/core/advertise.h"
#include "agent/find_shim.h"
#include "agent/grpc_link.h"
#include "agent/grpc_log_relays.h"
#include "agent/host_shutdown.h"
#include "agent/identity.h"
#include "agent/probe/inventory.h"
#include "agent/probe/network.h"
#include "agent/session_channels.h"
#include "agent/state/state_dir.h"
#include "common/clock.h"
#include "common/coordinator_address.h"
#include "common/log.h"
#include "common/log_throttle.h"
#include "common/loopback.h"
#include "common/port_range.h"
#include "common/priority.h"
#include "common/service_notify.h"
#include "common/socket_folder.h"
#include "common/status_macros.h"
#include "common/stop_signal.h"
#include "common/utf8.h"
#include "process/cgroup.h"
#include "process/private_shared_memory.h"
#include "process/sweep.h"
#include "security/client_identity.h"
#include "security/identity_files.h"
#include "shim/host/posix_shim_host.h"
#include "upload/blob_folder.h"

namespace accel::agent {
namespace {

constexpr size_t kMaxNameBytes = 128;  // The coordinator rejects longer names.
// Maximum time to wait until the previous agent has ended. That agent may be waiting for jobs that
// end with their agent.
constexpr absl::Duration kLockTimeout = absl::Seconds(40);
constexpr int kAddressPauseMillis = 500;
// Minimum time between two log lines with the same message.
constexpr absl::Duration kLogPause = absl::Minutes(1);

// Checks that only this user or root can make the coordinator's socket. If the socket's folder does
// not exist, waits until a coordinator makes it. CANCELLED: the agent was asked to stop meanwhile.
// FAILED_PRECONDITION: the folder is not safe.
absl::Status AwaitSocketFolder(const std::string& socket, int stop_fd) {
  common::LogThrottle throttle(kLogPause);
  while (true) {
    const absl::Status folder = common::CheckSocketFolder(socket);
    if (!absl::IsNotFound(folder)) return folder;
    if (throttle.Admit(common::SteadyClock()->Now()).has_value()) {
      common::LogWarning("no coordinator has run here yet, retrying", {{"why", folder.message()}});
    }
    pollfd stop = {.fd = stop_fd, .events = POLLIN, .revents = 0};
    if (poll(&stop, 1, kAddressPauseMillis) > 0) return absl::CancelledError("asked to stop");
  }
}

// Returns the source address of the route to the coordinator. Waits for a name server and a route,
// because an agent may be started before its host has a network. CANCELLED: the agent was asked to
// stop meanwhile. INVALID_ARGUMENT: the coordinator's name does not resolve.
absl::StatusOr<std::string> RouteAddress(const common::CoordinatorAddress& coordinator,
                                         int stop_fd) {
  common::LogThrottle throttle(kLogPause);
  while (true) {
    absl::StatusOr<std::string> address =
        SourceAddressTo(coordinator.tcp.host, coordinator.tcp.port);
    if (!absl::IsUnavailable(address.status())) return address;
    if (throttle.Admit(common::SteadyClock()->Now()).has_value()) {
      common::LogWarning("coordinator unreachable, retrying",
                         {{"why", address.status().message()}});
    }
    pollfd stop = {.fd = stop_fd, .events = POLLIN, .revents = 0};
    if (poll(&stop, 1, kAddressPauseMillis) > 0) return absl::CancelledError("asked to stop");
  }
}

// Returns the address of this node. Errors are those of AwaitSocketFolder(), RouteAddress() and
// ChooseAddress().
absl::StatusOr<std::string> OwnAddress(const AgentDaemonOptions& options,
                                       const common::CoordinatorAddress& coordinator, int stop_fd) {
  if (coordinator.is_local()) {
    ACCEL_RETURN_IF_ERROR(AwaitSocketFolder(coordinator.socket, stop_fd));
  }
  std::string wish = options.advertise;
  // By default, a coordinator at a Unix socket uses only this machine.
  if (wish.empty() && coordinator.is_local()) wish = "127.0.0.1";
  if (wish.empty()) {
    ACCEL_ASSIGN_OR_RETURN(wish, RouteAddress(coordinator, stop_fd));
  }
  ACCEL_ASSIGN_OR_RETURN(const std::vector<InterfaceAddress> own, OwnAddresses());
  return ChooseAddress(wish, own,
                       coordinator.is_local() || common::IsLoopback(coordinator.tcp.host));
}

// Returns the facts that decide as whom this node runs jobs.
AccountRules Rules(const AgentDaemonOptions& options, const std::string& node,
                   const common::CoordinatorAddress& coordinator) {
  AccountRules rules;
  rules.node = node;
  rules.own_account = OwnAccount();
  rules.is_root = geteuid() == 0;
  // The agent has checked that only its own user or root can have made the socket. A port is not
  // trusted, because any user can listen on it while the coordinator is away.
  rules.trusts_coordinator = coordinator.is_local();
  rules.least_uid = LeastUid(ReadLoginDefs());
  rules.allowed_system_users = options.allowed_system_users;
  return rules;
}

// If the agent is root, lets users enter their jobs' folders. Otherwise logs that all jobs run as
// the agent's own user.
absl::Status PrepareForUsers(const AccountRules& rules, const StateDir& state_dir) {
  if (rules.is_root) return state_dir.LetUsersPass();
  common::LogWarning("this agent is not root, so it runs all jobs as its own user",
                     {{"account", rules.own_account}});
  return absl::OkStatus();
}

// Returns true if each shim of another user can get its own /dev/shm. If only the mounts are not
// allowed, logs the reason.
bool PrivateSharedMemory() {
  if (geteuid() != 0) return false;
  const std::string why_not = process::WhyNoPrivateSharedMemory();
  if (why_not.empty()) return true;
  common::LogWarning("jobs share the /dev/shm of this machine, because mounts are not allowed here",
                     {{"why", why_not}});
  return false;
}

absl::StatusOr<v1::NodeObserved> Identity(const std::string& name, const std::string& address,
                                          const common::NodeId& node_id) {
  if (!common::IsUtf8(name)) return absl::InvalidArgumentError("--name: must be UTF-8");
  if (name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("--name: it has ", name.size(), " bytes; at most ", kMaxNameBytes));
  }
  ACCEL_ASSIGN_OR_RETURN(v1::Inventory inventory, ProbeInventory(/*with_gpus=*/true));
  ACCEL_ASSIGN_OR_RETURN(v1::NodeObserved identity,
                         MakeIdentity(node_id, name, address, std::move(inventory)));
  if (geteuid() != 0) identity.set_runs_all_as(OwnAccount());
  return identity;
}

// Returns the coordinator's address: from the flag or the environment, else the one that this node
// has joined, else the Unix socket of this machine.
absl::StatusOr<std::string> FindTarget(const AgentDaemonOptions& options) {
  const char* const named = std::getenv("ACCEL_COORDINATOR");
  if (options.coordinator.empty() && (named == nullptr || *named == '\0')) {
    absl::StatusOr<std::string> joined =
        security::IdentityFiles(options.state_dir, "node").ReadCoordinator();
    if (!absl::IsNotFound(joined.status())) return joined;
  }
  return common::FindCoordinator(options.coordinator);
}

// Returns this node's identity, or nullopt for a coordinator at a Unix socket, which requires none.
// FAILED_PRECONDITION: the node has no identity, or cannot use it now.
absl::StatusOr<std::optional<security::ClientIdentity>> FindCertificate(
    const AgentDaemonOptions& options, const common::CoordinatorAddress& coordinator) {
  if (coordinator.is_local()) return std::nullopt;
  absl::StatusOr<security::ClientIdentity> identity =
      security::IdentityFiles(options.state_dir, "node").Read();
  if (absl::IsNotFound(identity.status())) {
    const bool may_be_here = common::IsLoopback(coordinator.tcp.host);
    return absl::FailedPreconditionError(
        absl::StrCat("this node has not joined the cluster at ", coordinator.tcp.host,
                     "; make a key there with `accel node add`, and run here: accel-agent join "
                     "--state_dir ",
                     options.state_dir,
                     may_be_here ? "; or, on the coordinator's own machine, leave out "
                                   "--coordinator and ACCEL_COORDINATOR, which uses the Unix socket"
                                 : ""));
  }
  ACCEL_RETURN_IF_ERROR(identity.status());
  ACCEL_RETURN_IF_ERROR(security::CheckIdentity(
      *identity, "make a key with `accel node add`, and run: accel-agent join", absl::Now()));
  return *std::move(identity);
}

// Returns a thread that keeps the identity renewed. Null if there is no identity.
std::unique_ptr<RenewalThread> KeepRenewed(const AgentDaemonOptions& options,
                                           const std::string& target,
                                           const std::optional<security::ClientIdentity>& identity,
                                           std::shared_ptr<SessionChannels> channels) {
  if (!identity.has_value()) return nullptr;
  std::random_device random;
  return std::make_unique<RenewalThread>(
      CertificateRenewal::Options{.state_dir = options.state_dir,
                                  .identity = *identity,
                                  .channels = std::move(channels),
                                  .calls = CallsTo(target),
                                  .jitter = std::uniform_real_distribution<double>(0, 1)(random)});
}

// Returns the control groups of this node. Logs if the limit that was chosen cannot hold.
process::CgroupSupport FindCgroups(const std::string& node_id, int max_processes) {
  process::CgroupSupport cgroups = process::ProbeCgroups(node_id);
  if (!cgroups.ChooseMaxProcesses(max_processes)) {
    common::LogWarning("--max_processes has no effect, because this node has no pids controller",
                       {{"cgroups", cgroups.description}});
  }
  return cgroups;
}

void LogStart(const v1::NodeObserved& identity, const std::string& target, int64_t output_bytes,
              const AccountRules& rules, const process::CgroupSupport& cgroups) {
  common::LogInfo("agent starts", {{"node", identity.name()},
                                   {"id", identity.node_id()},
                                   {"coordinator", target},
                                   {"address", identity.address()},
                                   {"interface", identity.interface()},
                                   {"gpus", identity.inventory().gpus_size()},
                                   {"output_limit", output_bytes},
                                   {"runs", DescribeRules(rules)},
                                   {"max_processes", cgroups.max_processes},
                                   {"cgroups", cgroups.description}});
}

shim::PosixShimHost::Options ShimOptions(const std::string& path,
                                         const process::CgroupSupport& cgroups,
                                         const StateDir& state_dir,
                                         const v1::NodeObserved& identity, int nice) {
  return {.shim_path = path,
          .cgroups = cgroups,
          .shims_dir = state_dir.shims_dir(),
          .boot_id = identity.boot_id(),
          .nice = nice,
          .private_shared_memory = PrivateSharedMemory()};
}

// Leaves the cluster as far as `on_stop` says. A second signal makes the agent end at once.
void Leave(Agent* agent, OnStop on_stop, int stop_fd) {
  common::TakeStopSignals(stop_fd);
  if (on_stop == OnStop::kAuto && HostIsShuttingDown()) {
    agent->Leave(Leaver::kNode, "its host is shutting down", stop_fd);
  } else {
    agent->Leave(on_stop == OnStop::kLeave ? Leaver::kNode : Leaver::kAgent,
                 "its agent was stopped", stop_fd);
  }
}

absl::Status RunUntilStopped(Agent* agent, OnStop on_stop, int stop_fd) {
  const absl::Status status = agent->Run(stop_fd);
  if (status.ok()) Leave(agent, on_stop, stop_fd);
  common::LogInfo("agent stops", {{"why", status.ok() ? "asked to" : status.ToString()}});
  return status;
}

// Returns the maximum size of the output of all jobs.
absl::StatusOr<int64_t> OutputBytes(const AgentDaemonOptions& options) {
  ACCEL_ASSIGN_OR_RETURN(const int64_t disk_bytes, DiskBytes(options.state_dir));
  return ParseOutputLimit(options.output_limit, disk_bytes);
}

}  // namespace

absl::Status RunAgentDaemon(const AgentDaemonOptions& options, int stop_fd) {
  const common::ServiceNotify service;
  const int nice_of_jobs = common::RaiseDaemonPriority();
  ACCEL_ASSIGN_OR_RETURN(const std::string target, FindTarget(options));
  ACCEL_ASSIGN_OR_RETURN(const common::CoordinatorAddress coordinator,
                         common::ParseCoordinatorAddress(target));
  // The directory is locked before the certificate is read, because a join may be writing it.
  absl::StatusOr<StateDir> opened = StateDir::Open(options.state_dir, kLockTimeout, stop_fd);
  if (absl::IsCancelled(opened.status())) return absl::OkStatus();
  ACCEL_RETURN_IF_ERROR(opened.status());
  const StateDir state_dir = *std::move(opened);
  ACCEL_ASSIGN_OR_RETURN(const auto certificate, FindCertificate(options, coordinator));
  ACCEL_ASSIGN_OR_RETURN(const std::string name,
                         NodeName(options.name, certificate ? certificate->certificate : ""));
  ACCEL_ASSIGN_OR_RETURN(const common::PortRange ports, common::ParsePortRange(options.port_range));
  ACCEL_ASSIGN_OR_RETURN(const std::string shim, FindShim(options.shim));
  ACCEL_ASSIGN_OR_RETURN(const int64_t output_bytes, OutputBytes(options));
  const absl::StatusOr<std::string> address = OwnAddress(options, coordinator, stop_fd);
  if (absl::IsCancelled(address.status())) return absl::OkStatus();
  ACCEL_RETURN_IF_ERROR(address.status());
  ACCEL_ASSIGN_OR_RETURN(const v1::NodeObserved identity,
                         Identity(name, *address, state_dir.node_id()));
  const AccountRules rules = Rules(options, identity.name(), coordinator);
  const process::CgroupSupport cgroups = FindCgroups(identity.node_id(), options.max_processes);
  LogStart(identity, target, output_bytes, rules, cgroups);
  ACCEL_RETURN_IF_ERROR(PrepareForUsers(rules, state_dir));
  const auto channels = std::make_shared<SessionChannels>(
      [target, certificate] { return OpenChannel(target, certificate); });
  process::BecomeSubreaper();
  shim::PosixShimHost shims(ShimOptions(shim, cgroups, state_dir, identity, nice_of_jobs));
  GrpcLink link(channels);
  GrpcLogRelays relays(channels);
  const auto renewal = KeepRenewed(options, target, certificate, channels);
  ACCEL_ASSIGN_OR_RETURN(upload::BlobFolder blobs,
                         upload::BlobFolder::Open(state_dir.uploads_dir()));
  FetchedCode code(state_dir.jobs_dir(), identity.boot_id(), std::move(blobs),
                   std::make_unique<GrpcBlobSource>(channels));
  StoreSockets store_sockets(identity.address(), options.store_sockets, ports);
  Accounts accounts({.rules = rules, .clock = common::SteadyClock()});
  Agent agent({.identity = identity,
               .base_env = BaseEnv(),
               .jobs_dir = state_dir.jobs_dir(),
               .output = {.max_bytes = output_bytes},
               .pass_env = options.pass_env,
               .wall = absl::Now,
               .cluster = state_dir.cluster_id(),
               .remember_cluster =
                   [&](const std::string& cluster) { return state_dir.RememberCluster(cluster); }},
              {.shims = &shims,
               .link = &link,
               .store_sockets = &store_sockets,
               .relays = &relays,
               .accounts = &accounts,
               .code = &code,
               .clock = common::SteadyClock()});
  service.Ready(absl::StrCat("node ", identity.name(), " of the coordinator ", target));
  return RunUntilStopped(&agent, options.on_stop, stop_fd);
}

absl::StatusOr<std::string> ForgetCluster(const AgentDaemonOptions& options) {
  ACCEL_ASSIGN_OR_RETURN(const StateDir state_dir,
                         StateDir::Open(options.state_dir, absl::ZeroDuration()));
  const std::string& cluster = state_dir.cluster_id();
  ACCEL_RETURN_IF_ERROR(state_dir.ForgetCluster());
  if (cluster.empty()) return "the node belongs to no cluster";
  return absl::StrCat("the node no longer belongs to cluster ", cluster,
                      "; its next agent ends the jobs that its coordinator does not know");
}

}  // namespace accel::agent
