#include "cli/render/job_text.h"

#include <gtest/gtest.h>

#include "common/parse_text.h"

namespace accel::cli {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(10'000);

TEST(RenderJobs, Golden) {
  const auto jobs = common::ParseText<v1::ListJobsResponse>(R"(
      jobs {
        job_id: "a0x2k9fq" spec { name: "mnist" owner: "ann" nodes: 2 } phase: FAILED exit_code: 3
        reason: "Rank 1 on node a exited with code 3" submitted_unix_ms: 9700000
        ended_unix_ms: 9765000
        generations { generation: 1 started_unix_ms: 9700500 placements { processes: 3 } }
        generations { generation: 2 placements { processes: 3 } placements { processes: 4 } }
      }
      jobs {
        job_id: "a0x2k9fr" spec { name: "eval\033[2J" nodes: 4 processes_per_node: 8 }
        phase: PENDING reason: "Waits for 4 nodes; 3 are connected" submitted_unix_ms: 9999500
      }
      jobs {
        job_id: "a0x2k9fs" spec { nodes: 1 } phase: RUNNING submitted_unix_ms: 2000000
        generations { generation: 1 started_unix_ms: 2500000 placements { processes: 1 } }
      })");
  EXPECT_EQ(
      RenderJobs(jobs, kNow),
      R"(JOB       NAME         OWNER  PHASE    NODES  RANKS  GENERATION  SUBMITTED        RAN  EXIT  REASON
a0x2k9fq  mnist        ann    FAILED       2      7           2  5 min ago  1 min 4 s     3  Rank 1 on node a exited with code 3
a0x2k9fr  eval\x1b[2J  -      PENDING      4     32           -   just now          -     -  Waits for 4 nodes; 3 are connected
a0x2k9fs  -            -      RUNNING      1      1           1    2 h ago  2 h 5 min     -  -
)");
}

TEST(RenderJobs, ALongReasonIsCutInTheListAlone) {
  v1::ListJobsResponse jobs;
  v1::Job* job = jobs.add_jobs();
  job->set_reason("Rank 0: no such program in " + std::string(4096, 'x') + " at all");
  const std::string list = RenderJobs(jobs, kNow);
  EXPECT_LT(list.size(), 512u);
  EXPECT_NE(list.find("xxx…\n"), std::string::npos);
  EXPECT_NE(RenderJob(*job, kNow).find("xxx at all\n"), std::string::npos);
}

// The coordinator is of a later version.
TEST(RenderJobs, NumbersWithoutANameAreShownAsNumbers) {
  const auto jobs = common::ParseText<v1::ListJobsResponse>(R"(
      jobs {
        job_id: "a0" phase: 12 next: 12 devices: 12 ended_unix_ms: 9765000 exit_code: 3
        cause { rank: -1 exit { kind: 12 message: "so" } }
        generations {
          generation: 1 ended_unix_ms: 9765000
          cause { rank: 1 exit { kind: 12 message: "so" }
                  later { ranks: 1 kinds { ranks: 1 exit { kind: 12 } } } }
        }
      })");
  EXPECT_NE(RenderJobs(jobs, kNow).find(" PHASE 12 "), std::string::npos) << RenderJobs(jobs, kNow);
  const std::string text = RenderJob(jobs.jobs(0), kNow);
  for (const char* part : {"PHASE 12", "exit code",
                           "rank 1 ended in a way that this version of accel does not know: so",
                           "1 ended in a way that this version of accel does not know\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(RenderJobs, SaysThatThereAreNoJobs) { EXPECT_EQ(RenderJobs({}, kNow), "no jobs\n"); }

TEST(RenderJob, Golden) {
  const auto job = common::ParseText<v1::Job>(R"(
      job_id: "a0x2k9fq" phase: RUNNING reason: "All 7 ranks run" failures: 1
      spec {
        name: "mnist" owner: "ann" runs_as: "ann_s" argv: "/venv/bin/python" argv: "-u" argv: "/home/ann/train.py"
        workdir: "/home/ann" nodes: 2 processes_per_node: 3 processes_per_node: 4 max_restarts: 3
        time_limit_ms: 900000
      }
      submitted_unix_ms: 9700000
      generations {
        generation: 1 started_unix_ms: 9700500 ended_unix_ms: 9712500 exit_code: 3
        placements { node_name: "a" first_rank: 0 processes: 3 gpu_ids: 0 gpu_ids: 1 gpu_ids: 2 }
        placements { node_name: "node-b" first_rank: 3 processes: 1 }
        cause {
          generation: 1 rank: 1 node_name: "a" exit { kind: EXITED code: 3 }
          last_lines: "ValueError: \033[1mbad"
          later { ranks: 3 kinds { ranks: 3 exit { kind: EXITED code: 1 } } }
        }
      }
      generations {
        generation: 2 started_unix_ms: 9713000 refused_peers: 2
        placements { node_name: "a" first_rank: 0 processes: 1 gpu_ids: 3 }
      })");
  EXPECT_EQ(RenderJob(job, kNow), R"(job                 a0x2k9fq
name                mnist
owner               ann
runs as             ann_s
phase               RUNNING
reason              All 7 ranks run
command             /venv/bin/python -u /home/ann/train.py
workdir             /home/ann
nodes               2
processes per node  3, 4
failures            1 (restarts: at most 3)
time limit          15 min
submitted           5 min ago
ran                 4 min 59 s

generation 1: 4 ranks, ran 12 s, exit code 3
  node a       ranks 0 to 2  GPUs 0,1,2
  node node-b  rank 3
  rank 1 on node a exited with code 3
    | ValueError: \x1b[1mbad
  after it, 3 other ranks failed: 3 exited with code 1

generation 2: 1 rank, for 4 min 47 s
  node a  rank 0  GPUs 3
  its store refused 2 connections of hosts or users that have no part in the job
)");
}

TEST(RenderJob, BeforeItsFirstGenerationAndAfterItsEnd) {
  auto job =
      common::ParseText<v1::Job>("job_id: 'a0' spec { nodes: 1 argv: 'true' } phase: PENDING");
  const std::string pending = RenderJob(job, kNow);
  EXPECT_NE(pending.find("processes per node  one per GPU, or one\n"), std::string::npos)
      << pending;
  EXPECT_NE(pending.find("ran                 -\n"), std::string::npos) << pending;
  EXPECT_EQ(pending.find("exit code"), std::string::npos) << pending;
  job.set_phase(v1::CANCELLED);
  job.set_exit_code(143);
  const std::string cancelled = RenderJob(job, kNow);
  EXPECT_NE(cancelled.find("exit code           143\n"), std::string::npos) << cancelled;
}

}  // namespace
}  // namespace accel::cli
