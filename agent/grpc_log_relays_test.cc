#include "agent/grpc_log_relays.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/relay_limit.h"
#include "logs/log_test_folder.h"
#include "proto/service.grpc.pb.h"

namespace accel::agent {
namespace {

constexpr std::chrono::seconds kTimeout(20);
// The interval of the simulated agent's loop. Nothing depends on its length.
constexpr std::chrono::milliseconds kTurn(20);

// The output that one reader has received.
struct Heard {
  std::string out;
  std::string err;
  int64_t gap = 0;
  std::string error;
  bool end = false;   // The relay has sent the end.
  bool over = false;  // Its stream has ended.
};

class FakeService final : public v1::Coordinator::Service {
 public:
  FakeService() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeService() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::shared_ptr<grpc::Channel> Channel() const {
    return grpc::CreateChannel(absl::StrCat("127.0.0.1:", port_),
                               grpc::InsecureChannelCredentials());
  }

  grpc::Status RelayLogs(grpc::ServerContext*, grpc::ServerReader<v1::LogChunk>* reader,
                         v1::RelayLogsResponse*) override {
    v1::LogChunk chunk;
    std::string id;
    while (reader->Read(&chunk)) {
      id = chunk.reader_id();
      const std::lock_guard<std::mutex> lock(mutex_);
      Heard& heard = heard_[id];
      (chunk.stream() == v1::STDERR ? heard.err : heard.out) += chunk.data();
      heard.gap += chunk.gap_bytes();
      heard.end |= chunk.end();
      heard.error += chunk.error();
      changed_.notify_all();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    heard_[id].over = true;
    changed_.notify_all();
    return grpc::Status::OK;
  }

  // Calls `turn` now and then until `done` returns true for what the readers have received.
  bool Await(
      const std::function<bool(const std::map<std::string, Heard>&)>& done,
      const std::function<void()>& turn = [] {}) {
    const auto give_up = std::chrono::steady_clock::now() + kTimeout;
    while (std::chrono::steady_clock::now() < give_up) {
      turn();
      std::unique_lock<std::mutex> lock(mutex_);
      if (changed_.wait_for(lock, kTurn, [&] { return done(heard_); })) return true;
    }
    return false;
  }

  Heard Of(const std::string& reader) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return heard_[reader];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Heard> heard_;  // Keyed by reader id.
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class GrpcLogRelaysTest : public logs::LogTest {
 protected:
  RelaySource Source(const std::string& reader_id, bool follow = false) const {
    RelaySource source;
    source.reader.set_reader_id(reader_id);
    source.reader.set_follow(follow);
    source.log_dir = log_dir_;
    return source;
  }

  // Waits until this process has something below the rank's folder open.
  void AwaitLook() const {
    const auto give_up = std::chrono::steady_clock::now() + kTimeout;
    while (std::chrono::steady_clock::now() < give_up) {
      for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code error;
        const auto target = std::filesystem::read_symlink(fd.path(), error);
        if (target.string().starts_with(rank_dir())) return;
      }
    }
    FAIL() << "no look at the disk";
  }

  FakeService service_;
  GrpcLogRelays relays_{service_.Channel()};
};

TEST_F(GrpcLogRelaysTest, SendsExistingOutputAndThenTheEnd) {
  WriteSegment(0, "out");
  WriteSegment(0, "err", logs::LogStream::kStderr);
  relays_.Set({Source("r")});
  ASSERT_TRUE(
      service_.Await([](const auto& heard) { return heard.contains("r") && heard.at("r").over; }));
  const Heard heard = service_.Of("r");
  EXPECT_EQ(heard.out, "out");
  EXPECT_EQ(heard.err, "err");
  EXPECT_TRUE(heard.end);
}

TEST_F(GrpcLogRelaysTest, FollowsUntilTheGenerationIsComplete) {
  WriteSegment(0, "first");
  relays_.Set({Source("r", /*follow=*/true)});
  ASSERT_TRUE(service_.Await(
      [](const auto& heard) { return heard.contains("r") && heard.at("r").out == "first"; }));
  WriteSegment(0, ", second");
  RelaySource complete = Source("r", /*follow=*/true);
  complete.complete = true;
  relays_.Set({complete});
  ASSERT_TRUE(service_.Await([](const auto& heard) { return heard.at("r").over; }));
  EXPECT_EQ(service_.Of("r").out, "first, second");
  EXPECT_TRUE(service_.Of("r").end);
}

TEST_F(GrpcLogRelaysTest, AGapAtTheEndOfAStreamIsSent) {
  WriteSegment(0, "12345");
  WriteSegment(100, "");  // 95 bytes could not be written before the end.
  relays_.Set({Source("r")});
  ASSERT_TRUE(
      service_.Await([](const auto& heard) { return heard.contains("r") && heard.at("r").over; }));
  EXPECT_EQ(service_.Of("r").gap, 95);
}

// Nothing to read is not the same as output that was deleted.
TEST_F(GrpcLogRelaysTest, OutputThatIsGoneIsAnError) {
  RelaySource source = Source("r", /*follow=*/true);
  source.reader.set_rank(7);
  relays_.Set({source});
  // It may still come while the generation is live.
  RelaySource empty = Source("empty");
  empty.complete = true;
  relays_.Set({source, empty});
  const auto is_over = [](const std::string& id) {
    return [id](const auto& received) { return received.contains(id) && received.at(id).over; };
  };
  ASSERT_TRUE(service_.Await(is_over("empty")));
  EXPECT_EQ(service_.Of("empty").error, "");
  EXPECT_FALSE(service_.Of("r").end);
  source.complete = true;
  relays_.Set({source});
  ASSERT_TRUE(service_.Await(is_over("r")));
  EXPECT_TRUE(service_.Of("r").end);
  EXPECT_NE(service_.Of("r").error.find("was deleted"), std::string::npos);
}

TEST_F(GrpcLogRelaysTest, ResumesWhereItIsAsked) {
  WriteSegment(0, "one two");
  RelaySource source = Source("r");
  source.reader.set_stdout_offset(4);
  relays_.Set({source});
  ASSERT_TRUE(service_.Await(
      [](const auto& received) { return received.contains("r") && received.at("r").over; }));
  EXPECT_EQ(service_.Of("r").out, "two");
}

TEST_F(GrpcLogRelaysTest, AReaderThatIsGoneEndsItsRelay) {
  WriteSegment(0, "x");
  relays_.Set({Source("r", /*follow=*/true)});
  ASSERT_TRUE(service_.Await(
      [](const auto& heard) { return heard.contains("r") && heard.at("r").out == "x"; }));
  relays_.Set({});
  ASSERT_TRUE(service_.Await([](const auto& heard) { return heard.at("r").over; }));
  EXPECT_FALSE(service_.Of("r").end);
}

// A search in a file that is nearly without end, as a user can make one of holes.
TEST_F(GrpcLogRelaysTest, ASearchThatTakesHoursEndsWithItsReader) {
  WriteSegment(0, "");
  ASSERT_EQ(truncate(SegmentPath(0).c_str(), int64_t{1} << 43), 0);
  RelaySource source = Source("r");
  source.reader.mutable_selection()->set_tail(1);
  source.reader.mutable_selection()->set_grep("no such line");
  relays_.Set({source});
  AwaitLook();
  relays_.Set({});
}

// A reader may come before the job has a folder. The relay must not keep root's rights from then,
// because the user can put links in place of the folders below.
TEST_F(GrpcLogRelaysTest, AReaderBeforeTheFolderHasTheRightsOfItsOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has rights to give up";
  namespace fs = std::filesystem;
  constexpr uid_t kAnn = 61234;
  char made[] = "/tmp/accel.XXXXXX";
  ASSERT_NE(mkdtemp(made), nullptr);
  ASSERT_EQ(chmod(made, 0711), 0);
  const std::string root = made;
  fs::create_directories(root + "/victim/rank_0");
  std::ofstream(root + "/victim/rank_0/stdout.00000000000000000000") << "of another job";
  fs::permissions(root + "/victim", fs::perms::owner_all);
  RelaySource source = Source("r", /*follow=*/true);
  source.reader.set_job_id("j1");
  source.jobs_dir = root;
  source.log_dir = root + "/j1/gen_1";
  relays_.Set({source});
  // A link that only root can follow, in a folder that was closed until it was the user's.
  ASSERT_EQ(mkdir((root + "/j1").c_str(), 0), 0);
  ASSERT_EQ(symlink("../victim", (root + "/j1/gen_1").c_str()), 0);
  ASSERT_EQ(chown((root + "/j1").c_str(), kAnn, kAnn), 0);
  ASSERT_EQ(chmod((root + "/j1").c_str(), 0700), 0);
  source.complete = true;
  relays_.Set({source});
  ASSERT_TRUE(
      service_.Await([](const auto& heard) { return heard.contains("r") && heard.at("r").over; }));
  EXPECT_EQ(service_.Of("r").out, "");
  fs::remove_all(root);
}

// Readers remain in the desired state until their whole call is over. Readers that were served must
// not keep the places of others.
TEST_F(GrpcLogRelaysTest, MoreReadersThanPlacesAreAllServed) {
  WriteSegment(0, "x");
  std::vector<RelaySource> sources;
  for (size_t i = 0; i < common::kMaxRelays + 5; ++i) {
    sources.push_back(Source(absl::StrCat("r", i)));
  }
  const auto all_over = [&](const std::map<std::string, Heard>& heard) {
    size_t over = 0;
    for (const auto& [id, each] : heard) over += each.over && each.out == "x";
    return over == sources.size();
  };
  EXPECT_TRUE(service_.Await(all_over, [&] { relays_.Set(sources); }));
}

}  // namespace
}  // namespace accel::agent
