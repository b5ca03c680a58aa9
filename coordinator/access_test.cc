// Callers of every kind call every method of the services, over a real socket.

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "coordinator/any_method_fixture.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// The callers of these tests, by the name that a call carries in place of a certificate.
const std::map<std::string, Caller>& Callers() {
  static const auto* const callers = new std::map<std::string, Caller>{
      {"owner", {CallerKind::kOwner, "root", "", Role::kAdmin}},
      {"admin", {CallerKind::kUser, "eve", "01", Role::kAdmin}},
      {"ann", {CallerKind::kUser, "ann", "02", Role::kUser}},
      {"bob", {CallerKind::kUser, "bob", "03", Role::kUser}},
      {"viewer", {CallerKind::kUser, "vic", "04", Role::kViewer}},
      {"node", {CallerKind::kNode, "node-1", "05", Role::kViewer}},
  };
  return *callers;
}

ServerOptions WithNamedCallers() {
  ServerOptions options;
  options.identify = [](const grpc::ServerContextBase& context) -> absl::StatusOr<Caller> {
    const auto found = context.client_metadata().find("authorization");
    if (found == context.client_metadata().end()) return absl::UnauthenticatedError("who is it?");
    return Callers().at(std::string(found->second.data(), found->second.size()));
  };
  return options;
}

class AccessTest : public AnyMethodTest {
 protected:
  AccessTest() : AnyMethodTest(WithNamedCallers()) { AddUsers(Callers()); }

  std::string SubmitAs(const std::string& who, const std::string& submit_id) {
    v1::SubmitJobRequest request;
    request.set_submit_id(submit_id);
    request.mutable_spec()->add_argv("train");
    request.mutable_spec()->set_nodes(1);
    request.mutable_spec()->set_owner("root");  // What a client says about it does not count.
    v1::EnvVar* variable = request.mutable_spec()->add_env();
    variable->set_name("SECRET");
    variable->set_value("hunter2");
    v1::SubmitJobResponse response;
    EXPECT_OK(common::FromGrpc(stub_->SubmitJob(Call(who).get(), request, &response)));
    return response.job_id();
  }

  v1::Job ListAs(const std::string& who, const std::string& job) {
    v1::ListJobsRequest request;
    request.set_job_id(job);
    v1::ListJobsResponse response;
    EXPECT_OK(common::FromGrpc(stub_->ListJobs(Call(who).get(), request, &response)));
    return response.jobs(0);
  }

  absl::Status CancelAs(const std::string& who, const std::string& job) {
    v1::CancelJobRequest request;
    request.set_job_id(job);
    v1::CancelJobResponse response;
    return common::FromGrpc(stub_->CancelJob(Call(who).get(), request, &response));
  }
};

// The rows of the table, in the order of `who` below: owner, admin, ann (a user), viewer, node.
TEST_F(AccessTest, EachKindOfCallerMayCallWhatTheTableSays) {
  const std::map<std::string, std::string> allowed = {
      {"Coordinator/SubmitJob", "yyynn"},
      {"Coordinator/ListJobs", "yyyyn"},
      {"Coordinator/WatchJob", "yyyyn"},
      {"Coordinator/CancelJob", "yyynn"},
      {"Coordinator/ListNodes", "yyyyn"},
      {"Coordinator/ReadLogs", "yyynn"},
      {"Coordinator/Agent", "ynnny"},
      {"Coordinator/RelayLogs", "ynnny"},
      {"Operations/DrainNode", "yynnn"},
      {"Access/AddToken", "yynnn"},
      {"Access/ListMembers", "yynnn"},
      {"Access/Revoke", "yynnn"},
      {"Access/RemoveMember", "yynnn"},
      {"Access/WhoAmI", "yyyyy"},
      {"Access/Renew", "yyyyy"},
      {"Blobs/Has", "yyynn"},
      {"Blobs/Put", "yyynn"},
      {"Blobs/Get", "yyyny"},
  };
  ASSERT_EQ(Methods().size(), allowed.size());
  for (const std::string& method : Methods()) {
    size_t column = 0;
    for (const char* who : {"owner", "admin", "ann", "viewer", "node"}) {
      const absl::Status status = CallByName(method, who, "");
      // A node's empty report is not about itself, which is refused too, but later.
      const bool is_refused =
          absl::IsPermissionDenied(status) && !absl::StrContains(status.message(), "node_id");
      EXPECT_EQ(is_refused, allowed.at(method)[column] == 'n') << method << " " << who << status;
      EXPECT_FALSE(absl::IsUnauthenticated(status)) << method << " " << who;
      ++column;
    }
  }
}

TEST_F(AccessTest, AJobBelongsToItsSubmitter) {
  const std::string job = SubmitAs("ann", "one");
  EXPECT_EQ(ListAs("ann", job).spec().owner(), "ann");
  EXPECT_EQ(ListAs("ann", job).spec().env(0).value(), "hunter2");
  EXPECT_EQ(ListAs("admin", job).spec().env(0).value(), "hunter2");
  for (const char* who : {"bob", "viewer"}) {
    const v1::Job seen = ListAs(who, job);
    EXPECT_EQ(seen.spec().owner(), "ann");
    EXPECT_TRUE(seen.spec().env().empty()) << who;
    EXPECT_TRUE(seen.spec().argv().empty()) << who;
  }
}

TEST_F(AccessTest, AJobRunsAsTheAccountOfItsSubmitter) {
  EXPECT_EQ(ListAs("ann", SubmitAs("ann", "one")).spec().runs_as(), "ann");
  EXPECT_EQ(ListAs("ann", SubmitAs("admin", "two")).spec().runs_as(), "eve");
  v1::SubmitJobRequest request;
  request.set_submit_id("three");
  request.mutable_spec()->add_argv("train");
  request.mutable_spec()->set_nodes(1);
  v1::SubmitJobResponse response;
  for (const char* account : {"root", "bob"}) {
    request.mutable_spec()->set_runs_as(account);
    EXPECT_THAT(common::FromGrpc(stub_->SubmitJob(Call("ann").get(), request, &response)),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("run as ann")));
  }
  EXPECT_OK(common::FromGrpc(stub_->SubmitJob(Call("admin").get(), request, &response)));
  EXPECT_EQ(ListAs("bob", response.job_id()).spec().runs_as(), "bob");
}

// The entrance lets a call in, and the loop takes it a moment later.
TEST_F(AccessTest, AUserWhoHasJustBeenRemovedGetsNoAccount) {
  Change([](const AccessTurn& turn) {
    turn.access->members.erase({v1::USER_MEMBER, "ann"});
    turn.changes->members.insert({v1::USER_MEMBER, "ann"});
  });
  v1::SubmitJobRequest request;
  request.set_submit_id("one");
  request.mutable_spec()->add_argv("train");
  request.mutable_spec()->set_nodes(1);
  v1::SubmitJobResponse response;
  EXPECT_THAT(common::FromGrpc(stub_->SubmitJob(Call("ann").get(), request, &response)),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("no user ann")));
}

TEST_F(AccessTest, AnotherUsersJobIsAnUnknownJob) {
  const std::string job = SubmitAs("ann", "one");
  const absl::Status unknown = CancelAs("bob", "nope");
  const absl::Status denied = CancelAs("bob", job);
  EXPECT_THAT(denied, StatusIs(unknown.code(), HasSubstr("there is no job " + job)));
  v1::ReadLogsRequest request;
  request.set_job_id(job);
  const auto context = Call("bob");
  const auto reader = stub_->ReadLogs(context.get(), request);
  v1::LogChunk chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_THAT(common::FromGrpc(reader->Finish()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("there is no job " + job)));
  EXPECT_EQ(ListAs("ann", job).phase(), v1::PENDING);
  EXPECT_OK(CancelAs("admin", job));
}

TEST_F(AccessTest, AWatcherSeesWhatAListShows) {
  const std::string job = SubmitAs("ann", "one");
  v1::WatchJobRequest request;
  request.set_job_id(job);
  const auto context = Call("viewer");
  const auto reader = stub_->WatchJob(context.get(), request);
  v1::Job seen;
  ASSERT_TRUE(reader->Read(&seen));
  EXPECT_TRUE(seen.spec().env().empty());
  EXPECT_OK(CancelAs("ann", job));
  while (reader->Read(&seen)) EXPECT_TRUE(seen.spec().env().empty());
  EXPECT_EQ(seen.phase(), v1::CANCELLED);
}

TEST_F(AccessTest, AUserWithTooManyWatchesLeavesRoomForOthers) {
  v1::WatchJobRequest request;
  request.set_job_id(SubmitAs("ann", "one"));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::Job>>> watches;
  v1::Job seen;
  std::vector<std::unique_ptr<v1::Coordinator::Stub>> stubs;
  const auto watch_as = [&](const std::string& who) {
    // A connection has no more than 256 streams.
    if (watches.size() % 200 == 0) stubs.push_back(v1::Coordinator::NewStub(folder_.Connect()));
    contexts.push_back(Call(who));
    watches.push_back(stubs.back()->WatchJob(contexts.back().get(), request));
    return watches.back()->Read(&seen);
  };
  constexpr int kAtOnce = 1'024;
  for (int i = 0; i < kAtOnce; ++i) ASSERT_TRUE(watch_as("ann"));
  EXPECT_FALSE(watch_as("ann"));
  EXPECT_THAT(
      common::FromGrpc(watches.back()->Finish()),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ann has 1024 calls of WatchJob")));
  watches.pop_back();
  EXPECT_TRUE(watch_as("bob"));
  EXPECT_OK(CancelAs("ann", request.job_id()));
  for (const auto& watch : watches) {
    while (watch->Read(&seen)) {
    }
    EXPECT_OK(common::FromGrpc(watch->Finish()));
  }
  EXPECT_TRUE(watch_as("ann")) << "the watches have ended";
  while (watches.back()->Read(&seen)) {
  }
  EXPECT_OK(common::FromGrpc(watches.back()->Finish()));
}

TEST_F(AccessTest, ASubmitIdOfAnotherUserNamesNoJob) {
  SubmitAs("ann", "one");
  v1::SubmitJobRequest request;
  request.set_submit_id("one");
  request.mutable_spec()->add_argv("train");
  request.mutable_spec()->set_nodes(1);
  v1::SubmitJobResponse response;
  EXPECT_THAT(common::FromGrpc(stub_->SubmitJob(Call("bob").get(), request, &response)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("submit_id")));
  EXPECT_EQ(response.job_id(), "");
}

TEST_F(AccessTest, AnAgentSpeaksForItsOwnNodeOnly) {
  const auto report_as = [this](const std::string& node) {
    const auto context = Call("node");
    const auto stream = stub_->Agent(context.get());
    v1::NodeObserved observed = Observed(1);
    observed.set_node_id(node);
    EXPECT_TRUE(stream->Write(observed));
    v1::NodeDesired desired;
    if (stream->Read(&desired)) return absl::OkStatus();
    return common::FromGrpc(stream->Finish());
  };
  EXPECT_THAT(report_as("node-2"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("node node-1")));
  EXPECT_OK(report_as("node-1"));
}

}  // namespace
}  // namespace accel::coordinator
