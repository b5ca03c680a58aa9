// Stores that other versions of accel have written. testdata/schema_1.sql is one of version 1 of
// the rows. What a coordinator stores when it starts on such a file makes it one of its own
// version.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/parse_text.h"
#include "common/status_matchers.h"
#include "coordinator/core/observe.h"
#include "coordinator/core/planner.h"
#include "coordinator/core/records.h"
#include "coordinator/core/recover.h"
#include "coordinator/core/requests.h"
#include "coordinator/store/sqlite_file.h"
#include "proto/store.pb.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr char kDump[] = "coordinator/store/testdata/schema_1.sql";
constexpr char kBoot[] = "9f5a1c3e-7f0d-4b9e-9a55-0b1d7c2f4e6a";

const common::JobId kRunning("a0x1k9fq");
const common::JobId kQueued("a0x2m4cd");
const common::JobId kStopping("a0x3b7he");
const common::JobId kSucceeded("a0x4q1tz");
const common::JobId kDropped("a0w9d3k1");

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the bytes that today's version writes for this text.
std::string Encode(const std::string& key, const std::string& text) {
  using Kind = RowKey::Kind;
  switch (ParseRowKey(key)->kind) {
    case Kind::kCluster:
      return common::ParseText<v1::StoredCluster>(text).SerializeAsString();
    case Kind::kEnd:
      return common::ParseText<v1::StoredEnd>(text).SerializeAsString();
    case Kind::kGeneration:
      return common::ParseText<v1::GenerationRecord>(text).SerializeAsString();
    case Kind::kSpec:
      return common::ParseText<v1::JobSpec>(text).SerializeAsString();
    case Kind::kState:
      return common::ParseText<v1::StoredJob>(text).SerializeAsString();
    case Kind::kNode:
      return common::ParseText<v1::StoredNode>(text).SerializeAsString();
  }
  return "";
}

class UpgradeTest : public ::testing::Test {
 protected:
  UpgradeTest() {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    Execute(ReadBytes(kDump));
  }
  ~UpgradeTest() override { fs::remove_all(folder_); }

  void Execute(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    char* error = nullptr;
    ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(db);
  }

  absl::StatusOr<std::vector<Row>> Load() {
    const auto file = SqliteFile::Open(path_, SqliteFile::Missing::kIsAnError);
    if (!file.ok()) return file.status();
    return (*file)->Read();
  }

  absl::Status Write(const RowBatch& batch) {
    const auto file = SqliteFile::Open(path_, SqliteFile::Missing::kIsAnError);
    if (!file.ok()) return file.status();
    return (*file)->Write(batch);
  }

  // Starts a coordinator on the rows.
  absl::StatusOr<ClusterState> Start(const std::vector<Row>& rows, Changes* changes = nullptr,
                                     const std::string& boot = kBoot) const {
    return Recover(rows, Limits(), {now_, wall_, boot, "another cluster"}, changes);
  }

  void Report(SessionId session, const std::string& observed) {
    SessionId superseded = 0;
    ASSERT_OK(Observe(session, common::ParseText<v1::NodeObserved>(observed), now_, &state_,
                      &changes_, &superseded));
  }

  static std::string Node(const std::string& name, const std::string& id, int sequence,
                          const std::string& part) {
    return absl::StrCat("node_id: '", id, "' name: '", name, "' incarnation: 'agent-of-", name,
                        "' boot_id: 'boot-of-", name, "' sequence: ", sequence, " address: '", name,
                        "' inventory { cpus: 8 } store_sockets { id: 90 address: '", name,
                        "' port: 40090 } generations { ", part, " }");
  }

  const v1::Job& Job(const common::JobId& id) { return state_.jobs.at(id).job; }

  // A minute after the rows were written.
  absl::Time now_ = absl::UnixEpoch() + absl::Seconds(43'260);
  absl::Time wall_ = absl::FromUnixSeconds(1'795'366'060);
  ClusterState state_;
  Changes changes_;
  const std::string folder_ = (access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ::testing::TempDir()) +
                              ("/upgrade_test." + std::to_string(getpid()));
  const std::string path_ = folder_ + "/cluster.db";
};

// No field has got another number or type since.
TEST_F(UpgradeTest, EachRowStillSaysTheSame) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, Load());
  std::map<std::string, std::string> values;
  for (const Row& row : rows) values[row.key] = row.value;
  std::string text;
  size_t compared = 0;
  for (absl::string_view line : absl::StrSplit(ReadBytes(kDump), '\n')) {
    if (absl::ConsumePrefix(&line, "-- ")) {
      absl::StrAppend(&text, line, "\n");
    } else if (absl::ConsumePrefix(&line, "INSERT INTO rows VALUES ('")) {
      const std::string key(line.substr(0, line.find('\'')));
      EXPECT_EQ(Encode(key, text), values[key]) << key;
      ++compared;
      text.clear();
    } else {
      text.clear();
    }
  }
  EXPECT_EQ(compared, rows.size());
  EXPECT_EQ(compared, 17u);
}

TEST_F(UpgradeTest, EachJobAndNodeIsWhatItWas) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, Load());
  ASSERT_OK_AND_ASSIGN(const ClusterState state, Start(rows));
  EXPECT_EQ(DescribeRecovery(state), "2 jobs that hold nodes, 1 in the queue, 1 finished, 3 nodes");
  EXPECT_EQ(state.facts.cluster_id, "6d1f7a0c4be94f5c");
  EXPECT_EQ(state.facts.epoch, 4);
  for (const Row& row : rows) {
    ASSERT_OK_AND_ASSIGN(const RowKey key, ParseRowKey(row.key));
    const JobEntry* entry = FindJob(state, common::JobId(key.id));
    if (key.kind == RowKey::Kind::kSpec) {
      EXPECT_EQ(entry->job.spec().SerializeAsString(), row.value);
    }
    if (key.kind == RowKey::Kind::kGeneration) {
      EXPECT_EQ(entry->job.generations(key.generation - 1).SerializeAsString(), row.value);
    }
    if (key.kind != RowKey::Kind::kState) continue;
    v1::Job job = entry->job;
    job.clear_spec();
    job.clear_generations();
    v1::StoredJob stored;
    ASSERT_TRUE(stored.ParseFromString(row.value));
    EXPECT_EQ(job.DebugString(), stored.job().DebugString());
  }
  const JobEntry& running = state.jobs.at(kRunning);
  EXPECT_EQ(running.history.failures.size(), 1u);
  EXPECT_EQ(running.history.blamed_node.value(), "node-8be2d6019f44");
  EXPECT_TRUE(running.reports_checkpoints);
  EXPECT_EQ(state.jobs.at(kStopping).stop_grace, absl::Seconds(30));
  EXPECT_EQ(state.jobs.at(kStopping).end_by, absl::UnixEpoch() + absl::Seconds(129'400));
  EXPECT_EQ(state.ended.Find(kDropped)->exit_code, 139);
  const NodeEntry& node = state.nodes.at(common::NodeId("node-4c1f0a52b7d3"));
  EXPECT_EQ(node.observed.name(), "n1");
  EXPECT_EQ(node.observed.boot_id(), "boot-of-n1");
  EXPECT_TRUE(node.has_gpus);
  EXPECT_TRUE(node.consumed_sockets.at(12)) << "the running generation holds its store's socket";
  EXPECT_EQ(state.nodes.at(common::NodeId("node-d07351ac68e9")).drain, v1::FINISH_JOBS);
}

// No generation ends because of the upgrade, and each job goes on from where it was.
TEST_F(UpgradeTest, WhatFollowsIsWhatWouldHaveFollowed) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, Load());
  ASSERT_OK_AND_ASSIGN(state_, Start(rows, &changes_));
  v1::JobSpec any;
  any.add_argv("any");
  any.set_nodes(1);
  for (const auto& [submit_id, job] : std::map<std::string, common::JobId>{
           {"submit-of-llama", kRunning}, {"submit-of-the-dropped-job", kDropped}}) {
    ASSERT_OK_AND_ASSIGN(const common::JobId id,
                         SubmitJob(submit_id, any, wall_, &state_, &changes_));
    EXPECT_EQ(id, job) << "a retry is the same job";
  }
  const std::string runs = "job_id: 'a0x1k9fq' generation: 2 state: RUNNING";
  Report(1, Node("n1", "node-4c1f0a52b7d3", 1, runs));
  Report(2, Node("n2", "node-8be2d6019f44", 1, runs));
  Report(3, Node("n3", "node-d07351ac68e9", 1, "job_id: 'a0x3b7he' generation: 1 state: STOPPING"));
  PlanToRest(now_, wall_, &state_, &changes_);
  EXPECT_EQ(Job(kRunning).phase(), v1::RUNNING);
  EXPECT_EQ(Job(kRunning).generations_size(), 2);
  EXPECT_EQ(Job(kStopping).phase(), v1::STOPPING);
  EXPECT_EQ(Job(kQueued).phase(), v1::STARTING) << Job(kQueued).reason();

  const std::string done = "job_id: 'a0x1k9fq' generation: 2 state: ENDED ";
  const auto exited = [](int rank) {
    return absl::StrCat("workers { rank: ", rank, " exit { kind: EXITED } } ");
  };
  Report(1, Node("n1", "node-4c1f0a52b7d3", 2, done + exited(0) + exited(1)));
  Report(2, Node("n2", "node-8be2d6019f44", 2, done + exited(2) + exited(3)));
  Report(3, Node("n3", "node-d07351ac68e9", 2, "job_id: 'a0x3b7he' generation: 1 state: ENDED"));
  PlanToRest(now_, wall_, &state_, &changes_);
  EXPECT_EQ(Job(kRunning).phase(), v1::SUCCEEDED) << Job(kRunning).reason();
  EXPECT_EQ(Job(kStopping).phase(), v1::CANCELLED) << Job(kStopping).reason();

  // The next coordinator finds all of it.
  ASSERT_OK(Write(RowsOf(state_, changes_)));
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> now, Load());
  ASSERT_OK_AND_ASSIGN(const ClusterState next, Start(now));
  ASSERT_EQ(next.jobs.size(), state_.jobs.size());
  for (const auto& [id, entry] : next.jobs) {
    EXPECT_EQ(entry.job.DebugString(), Job(id).DebugString());
  }
}

// Invariant 1. A kill at any byte of the first commit leaves the store of the earlier version, or
// that of this one.
TEST_F(UpgradeTest, ACrashLeavesTheEarlierVersionOrThisOne) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> earlier, Load());
  // After a reboot, the first commit stores all times again.
  ASSERT_OK_AND_ASSIGN(const ClusterState state, Start(earlier, &changes_, "the next boot"));
  const RowBatch batch = RowsOf(state, changes_);
  ASSERT_EQ(batch.put.size(), 5u) << "the cluster, three jobs and an end";
  std::vector<Row> upgraded;
  {
    ASSERT_OK_AND_ASSIGN(const auto file, SqliteFile::Open(path_, SqliteFile::Missing::kIsAnError));
    fs::copy_file(path_, path_ + ".kept");
    ASSERT_OK(file->Write(batch));
    ASSERT_OK_AND_ASSIGN(upgraded, file->Read());
    fs::copy_file(path_ + "-wal", path_ + "-wal.kept");
  }
  const std::string log = ReadBytes(path_ + "-wal.kept");
  int found[] = {0, 0};
  constexpr size_t kStep = 61;
  for (size_t at = 0; at < log.size() + kStep; at += kStep) {
    const size_t size = std::min(at, log.size());
    fs::remove(path_ + "-shm");
    fs::copy_file(path_ + ".kept", path_, fs::copy_options::overwrite_existing);
    std::ofstream(path_ + "-wal", std::ios::binary | std::ios::trunc) << log.substr(0, size);
    ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, Load());
    ASSERT_TRUE(rows == earlier || rows == upgraded) << size;
    ++found[rows == upgraded];
    ASSERT_OK_AND_ASSIGN(const ClusterState next, Start(rows, nullptr, "the next boot"));
    ASSERT_EQ(DescribeRecovery(next), DescribeRecovery(state)) << size;
  }
  EXPECT_GT(found[0], 10);
  EXPECT_EQ(found[1], 1) << "only the whole log has the commit";
}

// The same if one statement of the commit fails.
TEST_F(UpgradeTest, AStatementThatFailsLeavesTheEarlierVersion) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> earlier, Load());
  ASSERT_OK_AND_ASSIGN(const ClusterState state, Start(earlier, &changes_, "the next boot"));
  const RowBatch batch = RowsOf(state, changes_);
  for (const Row& row : batch.put) {
    Execute(absl::StrCat("CREATE TRIGGER refuse BEFORE INSERT ON rows WHEN NEW.key = '", row.key,
                         "' BEGIN SELECT RAISE(ABORT, 'planted'); END"));
    EXPECT_THAT(Write(batch), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("planted")));
    Execute("DROP TRIGGER refuse");
    ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, Load());
    EXPECT_EQ(rows, earlier) << row.key;
  }
  EXPECT_OK(Write(batch));
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, Load());
  v1::StoredCluster cluster;
  ASSERT_TRUE(cluster.ParseFromString(rows.front().value));
  EXPECT_EQ(cluster.schema(), kStoreSchema);
}

// Rows that only a later version knows are no damage.
TEST_F(UpgradeTest, ALaterVersionIsRefusedUnchanged) {
  v1::StoredCluster cluster;
  cluster.set_schema(kStoreSchema + 1);
  cluster.set_cluster_id("6d1f7a0c4be94f5c");
  ASSERT_OK(Write({{{"cluster", cluster.SerializeAsString()}, {"a/later/kind", "x"}}, {}}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, Load());
  EXPECT_THAT(Start(rows),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("start the version of accel that wrote them, or a later one")));
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> after, Load());
  EXPECT_EQ(after, rows);
}

}  // namespace
}  // namespace accel::coordinator
