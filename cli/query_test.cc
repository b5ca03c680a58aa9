// Tests `accel status`, `logs`, `cancel` and `nodes` against a fake coordinator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <tuple>

#include "cli/command_test_fixture.h"
#include "cli/commands.h"
#include "common/parse_text.h"

namespace accel::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class QueryTest : public CommandTest {
 protected:
  QueryTest() {
    coordinator_.SetJobs(common::ParseText<v1::ListJobsResponse>(R"(
        jobs { job_id: "a0x2k9fq" phase: RUNNING spec { name: "mnist" nodes: 1 }
               generations { generation: 1 placements { processes: 1 } }
               generations { generation: 2 placements { processes: 2 } } }
        jobs { job_id: "a0x2k9fr" phase: SUCCEEDED spec { nodes: 1 }
               generations { generation: 1 placements { processes: 1 } } }
        jobs { job_id: "b1" phase: PENDING spec { nodes: 1 } })"));
  }

  static v1::LogChunk Chunk(int rank, v1::LogStream stream, const std::string& data) {
    v1::LogChunk chunk;
    chunk.set_rank(rank);
    chunk.set_stream(stream);
    chunk.set_data(data);
    return chunk;
  }
};

TEST_F(QueryTest, StatusListsTheJobs) {
  const Result result = Invoke(RunStatus, {});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("JOB "));
  EXPECT_THAT(result.out, HasSubstr("\na0x2k9fq  mnist  -      RUNNING "));
  EXPECT_THAT(result.out, HasSubstr("\nb1 "));
}

TEST_F(QueryTest, DrainSaysWhatFollows) {
  const std::vector<std::tuple<std::vector<std::string>, v1::Drain, std::string>> cases = {
      {{"n1"}, v1::FINISH_JOBS, "its jobs run to their ends"},
      {{"n1", "--now"}, v1::MOVE_JOBS, "its jobs move to other nodes"},
      {{"--undo", "n1"}, v1::NOT_DRAINED, "takes work again"},
  };
  for (const auto& [args, drain, says] : cases) {
    const Result result = Invoke(RunDrain, args);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr(says));
    EXPECT_EQ(coordinator_.drains().back().node(), "n1");
    EXPECT_EQ(coordinator_.drains().back().drain(), drain);
  }
  EXPECT_EQ(Invoke(RunDrain, {"n1", "--now", "--undo"}).exit_code, 2);
  EXPECT_EQ(Invoke(RunDrain, {}).exit_code, 2);
  EXPECT_THAT(coordinator_.drains(), SizeIs(3));
  const Result missing = Invoke(RunDrain, {"n9"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(missing.err, "accel: there is no node n9\n");
}

TEST_F(QueryTest, StatusShowsOneJobByThePrefixOfItsId) {
  for (const char* id : {"b1", "b"}) {
    const Result result = Invoke(RunStatus, {id});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, StartsWith("job                 b1\n"));
  }
}

TEST_F(QueryTest, AnIdThatFitsNoneOrSeveralIsAnError) {
  Result result = Invoke(RunStatus, {"a0"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "accel: 2 jobs begin with a0: a0x2k9fq, a0x2k9fr\n");
  for (auto command : {RunStatus, RunLogs, RunCancel}) {
    result = Invoke(command, {"zz"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.err, "accel: there is no job zz; `accel status` lists the jobs\n");
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(QueryTest, JsonHasEveryField) {
  Result result = Invoke(RunStatus, {"--json"});
  EXPECT_THAT(result.out, StartsWith("{\n \"schema_version\": 1,\n \"jobs\": [\n"));
  result = Invoke(RunStatus, {"b1", "--json"});
  EXPECT_THAT(result.out, HasSubstr("\"job_id\": \"b1\""));
  EXPECT_THAT(result.out, HasSubstr("\"exit_code\": 0"));
  EXPECT_THAT(result.out, HasSubstr("\"phase\": \"PENDING\""));
  result = Invoke(RunNodes, {"--json"});
  EXPECT_THAT(result.out, StartsWith("{\n \"schema_version\": 1,\n \"nodes\": [],\n"));
}

TEST_F(QueryTest, NodesAreATable) {
  coordinator_.SetNodes(
      common::ParseText<v1::ListNodesResponse>("nodes { name: 'a' connected: true }"));
  const Result result = Invoke(RunNodes, {});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\na     -        ready"));
}

TEST_F(QueryTest, TheEnvironmentNamesTheCoordinator) {
  ::setenv("ACCEL_COORDINATOR", coordinator_.address().c_str(), 1);
  std::ostringstream out, err;
  EXPECT_EQ(RunNodes({}, Console{out, err}), 0) << err.str();
  EXPECT_EQ(out.str(), "no nodes\n");
  // A flag wins over the environment.
  EXPECT_EQ(RunNodes({"--coordinator", "nonsense"}, Console{out, err}), 2);
  ::unsetenv("ACCEL_COORDINATOR");
}

TEST_F(QueryTest, LogsOfOneRankAreItsBytes) {
  const std::string bytes("half a line\r\x1b[1m\0", 16);
  coordinator_.SetLogs({Chunk(1, v1::STDOUT, bytes), Chunk(1, v1::STDERR, "error\n")});
  const Result result = Invoke(RunLogs, {"a0x2k9fq", "--rank", "1", "--generation=2", "--follow"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, bytes);
  EXPECT_EQ(result.err, "error\n");
  const v1::ReadLogsRequest read = coordinator_.logs_read().at(0);
  EXPECT_EQ(read.job_id(), "a0x2k9fq");
  EXPECT_EQ(read.ranks(0).first(), 1);
  EXPECT_EQ(read.ranks(0).last(), 1);
  EXPECT_EQ(read.generation(), 2);
  EXPECT_TRUE(read.follow());
}

TEST_F(QueryTest, LogsOfSeveralRanksAreLinesWithTheRank) {
  coordinator_.SetLogs({Chunk(0, v1::STDOUT, "on"), Chunk(1, v1::STDOUT, "two\n"),
                        Chunk(0, v1::STDOUT, "e\n"), Chunk(1, v1::STDERR, "rest")});
  Result result = Invoke(RunLogs, {"a0x2k9fq"});
  EXPECT_EQ(result.out, "[rank 1] two\n[rank 0] one\n");
  EXPECT_EQ(result.err, "[rank 1] rest\n");
  EXPECT_THAT(coordinator_.logs_read().at(0).ranks(), IsEmpty());
  EXPECT_EQ(coordinator_.logs_read().at(0).generation(), 2);
  // Generation 1 had one rank only.
  result = Invoke(RunLogs, {"a0x2k9fq", "--generation", "1"});
  EXPECT_THAT(result.out, StartsWith("ontwo\n"));
}

TEST_F(QueryTest, AFollowerContinuesThroughRestarts) {
  coordinator_.SetJobs(common::ParseText<v1::ListJobsResponse>(
      "jobs { job_id: 'a0' phase: RUNNING generations { generation: 1 } }"));
  coordinator_.SetLogs({Chunk(0, v1::STDOUT, "x\n")});
  const auto tell = [](std::string job) {
    return [=](const v1::WatchJobRequest&, grpc::ServerWriter<v1::Job>* writer, FakeCoordinator*) {
      writer->Write(
          common::ParseText<v1::Job>("job_id: 'a0' phase: STOPPING generations { generation: 1 }"));
      writer->Write(common::ParseText<v1::Job>(job));
      return grpc::Status::OK;
    };
  };
  coordinator_.OnWatch({tell("job_id: 'a0' phase: RUNNING generations { generation: 2 } "
                             "generations { generation: 5 }"),
                        tell("job_id: 'a0' phase: FAILED generations { generation: 2 } generations "
                             "{ generation: 5 }"),
                        tell("job_id: 'a0' phase: FAILED generations { generation: 5 }")});
  const Result result = Invoke(RunLogs, {"a0", "-f"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "x\nx\nx\n");
  EXPECT_EQ(result.err,
            "accel: job a0 has started again: generation 2\n"
            "accel: job a0 has started again: generation 5; nothing is left of 2 before it\n");
  EXPECT_EQ(coordinator_.logs_read().back().generation(), 5);
}

TEST_F(QueryTest, LogsSayWhatIsMissing) {
  v1::LogChunk gap = Chunk(0, v1::STDOUT, "late\n");
  gap.set_gap_bytes(4096);
  v1::LogChunk lost;
  lost.set_rank(1);
  lost.set_error("node b is not connected");
  coordinator_.SetLogs({gap, lost});
  const Result result = Invoke(RunLogs, {"a0x2k9fq"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "[rank 0] ... 4096 bytes of output were dropped ...\n[rank 0] late\n");
  EXPECT_EQ(result.err, "accel: rank 1: node b is not connected\n");
}

v1::LogChunk At(v1::LogChunk chunk, int64_t offset) {
  chunk.set_offset(offset);
  return chunk;
}

// The connection breaks in the middle of a line. Rank 1 had ended by then.
TEST_F(QueryTest, ReadingResumesWhereTheConnectionBroke) {
  v1::LogChunk end = Chunk(1, v1::STDOUT, "");
  end.set_end(true);
  const grpc::Status gone(grpc::StatusCode::UNAVAILABLE, "the coordinator is shutting down");
  coordinator_.OnReadLogs(
      {{{Chunk(0, v1::STDOUT, "one\ntw"), end}, gone},
       {{}, gone},
       {{At(Chunk(0, v1::STDOUT, "o\nthree\n"), 6), Chunk(0, v1::STDERR, "bad\n")}, {}}});
  const Result result = Invoke(RunLogs, {"a0x2k9fq"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "[rank 0] one\n[rank 0] two\n[rank 0] three\n");
  EXPECT_EQ(result.err,
            "accel: the coordinator is shutting down\naccel: trying again for 2m\n"
            "accel: the coordinator is back\n"
            "[rank 0] bad\n");
  const auto read = coordinator_.logs_read();
  ASSERT_THAT(read, SizeIs(3));
  ASSERT_THAT(read[2].ranks(), SizeIs(1));
  EXPECT_EQ(read[2].ranks(0).last(), 0);
  ASSERT_THAT(read[2].positions(), SizeIs(1));
  EXPECT_EQ(read[2].positions(0).offset(), 6);
}

TEST_F(QueryTest, AnErrorThatARetryCannotHealEndsTheCommand) {
  coordinator_.OnReadLogs({{{Chunk(0, v1::STDOUT, "x\n")}, {grpc::StatusCode::UNAVAILABLE, "gone"}},
                           {{}, {grpc::StatusCode::NOT_FOUND, "there is no job a0x2k9fq"}}});
  const Result result = Invoke(RunLogs, {"a0x2k9fq"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("accel: there is no job a0x2k9fq\n"));
}

TEST_F(QueryTest, AFollowerOfAJobThatHasNotStartedWaits) {
  coordinator_.SetJobs(
      common::ParseText<v1::ListJobsResponse>("jobs { job_id: 'a0' reason: 'no room' }"));
  coordinator_.SetLogs({Chunk(0, v1::STDOUT, "x\n")});
  coordinator_.OnWatch({[](auto&, auto* writer, auto*) {
    writer->Write(common::ParseText<v1::Job>("job_id: 'a0' version: 2"));
    writer->Write(common::ParseText<v1::Job>(
        "job_id: 'a0' version: 3 phase: SUCCEEDED generations { generation: 1 }"));
    return grpc::Status::OK;
  }});
  const Result result = Invoke(RunLogs, {"a0", "-f"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "x\n");
  EXPECT_EQ(result.err, "accel: job a0 has not been started yet: no room\naccel: waiting for it\n");
}

TEST_F(QueryTest, AFollowerOfMoreRanksThanANodeSendsIsWarned) {
  coordinator_.SetJobs(common::ParseText<v1::ListJobsResponse>(
      "jobs { job_id: 'a0' phase: RUNNING generations { generation: 1 "
      "placements { node_name: 'n1' processes: 200 } "
      "placements { node_name: 'n2' first_rank: 200 processes: 8 } } }"));
  Result result = Invoke(RunLogs, {"a0", "-f", "--generation=1"});
  EXPECT_EQ(result.err,
            "accel: node n1 sends the output of 128 ranks at the same time, and 200 are followed; "
            "the others begin as ranks end; choose some with --rank\n");
  result = Invoke(RunLogs, {"a0", "-f", "--generation=1", "--rank", "100-207"});
  EXPECT_EQ(result.err, "");
  result = Invoke(RunLogs, {"a0"});
  EXPECT_EQ(result.err, "") << "without --follow, all of them get their turn";
}

TEST_F(QueryTest, SelectionsTravel) {
  const Result result = Invoke(RunLogs, {"a0x2k9fq", "--stream", "stderr", "--grep", "lo+ss",
                                         "--tail", "0", "--since", "2026-01-02T03:04:05Z"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const v1::LogSelection selection = coordinator_.logs_read().at(0).selection();
  EXPECT_EQ(selection.stream(), v1::STDERR);
  EXPECT_EQ(selection.grep(), "lo+ss");
  EXPECT_TRUE(selection.has_tail());
  EXPECT_EQ(selection.since_unix_ms(), 1767323045000);
}

TEST_F(QueryTest, EqualLinesOfRanksAreFolded) {
  coordinator_.SetLogs({Chunk(0, v1::STDOUT, "same\nown\n"), Chunk(1, v1::STDOUT, "same\n")});
  const Result result = Invoke(RunLogs, {"a0x2k9fq", "--fold", "-f", "--generation=2"});
  EXPECT_EQ(result.out, "[ranks 0-1, 2 times] same\n[rank 0] own\n");
}

TEST_F(QueryTest, CancelSendsOneRequest) {
  Result result = Invoke(RunCancel, {"b"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  result = Invoke(RunCancel, {"--now", "b1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto cancels = coordinator_.cancels();
  ASSERT_THAT(cancels, SizeIs(2));
  EXPECT_EQ(cancels[0].job_id(), "b1");
  EXPECT_FALSE(cancels[0].at_once());
  EXPECT_TRUE(cancels[1].at_once());
}

TEST_F(QueryTest, CancelOfAFinishedJobChangesNothing) {
  const Result result = Invoke(RunCancel, {"a0x2k9fr"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "accel: job a0x2k9fr has already ended: SUCCEEDED\n");
  EXPECT_THAT(coordinator_.cancels(), IsEmpty());
}

TEST_F(QueryTest, CancelAndDrainPrintJson) {
  const Result ended = Invoke(RunCancel, {"--json", "a0x2k9fr"});
  EXPECT_EQ(ended.out,
            "{\"schema_version\": 1, \"job_id\": \"a0x2k9fr\", \"had_ended\": true, "
            "\"phase_before\": \"SUCCEEDED\"}\n");
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(Invoke(RunCancel, {"--json", "b1"}).out, HasSubstr("\"had_ended\": false"));
  const Result drained = Invoke(RunDrain, {"--json", "--now", "n1"});
  EXPECT_EQ(drained.out, "{\"schema_version\": 1, \"node\": \"n1\", \"drain\": \"MOVE_JOBS\"}\n");
  EXPECT_EQ(drained.err, "");
}

TEST_F(QueryTest, HelpNeedsNoCoordinator) {
  for (auto command : {RunSubmit, RunStatus, RunLogs, RunCancel, RunNodes}) {
    std::ostringstream out, err;
    EXPECT_EQ(command({"--help"}, Console{out, err}), 0);
    EXPECT_THAT(out.str(), StartsWith("Usage: accel "));
    EXPECT_THAT(out.str(), HasSubstr("Exit codes"));
    EXPECT_EQ(err.str(), "");
  }
}

TEST_F(QueryTest, WrongUsageIsNamed) {
  EXPECT_EQ(Invoke(RunCancel, {}).exit_code, 2);
  EXPECT_EQ(Invoke(RunNodes, {"extra"}).exit_code, 2);
  for (const char* ranks : {"-1", "3-", "5-3", "a", "1,,2", ""}) {
    EXPECT_EQ(Invoke(RunLogs, {"b1", "--rank", ranks}).exit_code, 2) << ranks;
  }
  EXPECT_EQ(Invoke(RunLogs, {"b1", "--grep", "("}).exit_code, 2);
  EXPECT_EQ(Invoke(RunLogs, {"b1", "--stream", "both"}).exit_code, 2);
  EXPECT_EQ(Invoke(RunLogs, {"b1", "--since", "yesterday"}).exit_code, 2);
  EXPECT_EQ(Invoke(RunStatus, {"--coordinator", "127.0.0.1:7337"}).exit_code, 1);  // No login.
  EXPECT_EQ(Invoke(RunStatus, {"--coordinator", "nonsense"}).exit_code, 2);
}

}  // namespace
}  // namespace accel::cli
