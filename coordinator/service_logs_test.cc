// A worker's output on its way from an agent's relay to a client, over real channels.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/stream_open.h"
#include "coordinator/service_fixture.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// A call that names its caller is that of a stranger.
ServerOptions WithStrangers() {
  ServerOptions options;
  options.identify = [](const grpc::ServerContextBase& context) -> absl::StatusOr<Caller> {
    if (context.client_metadata().contains("authorization")) {
      return absl::UnauthenticatedError("who is it?");
    }
    return Caller{CallerKind::kOwner, "root", "", Role::kAdmin};
  };
  return options;
}

class LogsTest : public ServiceTest {
 protected:
  LogsTest() : ServiceTest(WithStrangers()), agent_(stub_.get()) {
    agent_.Report(Observed(1));
    EXPECT_TRUE(agent_.Read());
    job_ = Submit("one").value();
    EXPECT_TRUE(agent_.Read());
  }

  v1::ReadLogsRequest Request(int rank) {
    v1::ReadLogsRequest request;
    request.set_job_id(job_);
    if (rank >= 0) {
      request.add_ranks()->set_first(rank);
      request.mutable_ranks(0)->set_last(rank);
    }
    request.set_follow(true);
    return request;
  }

  Agent agent_;
  std::string job_;
  std::vector<std::unique_ptr<grpc::ClientContext>> readings_;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::LogChunk>>> readers_;
};

v1::LogChunk Chunk(const std::string& reader_id, const std::string& data, bool end,
                   int64_t offset = 0) {
  v1::LogChunk chunk;
  chunk.set_offset(offset);
  chunk.set_reader_id(reader_id);
  chunk.set_rank(1);
  chunk.set_stream(v1::STDOUT);
  chunk.set_data(data);
  chunk.set_end(end);
  return chunk;
}

TEST_F(LogsTest, OutputComesThrough) {
  const auto context = Call();
  const auto reader = stub_->ReadLogs(context.get(), Request(-1));
  ASSERT_TRUE(agent_.Read());
  ASSERT_EQ(agent_.desired.log_readers_size(), 1);
  const v1::LogReader wish = agent_.desired.log_readers(0);
  EXPECT_EQ(wish.job_id(), job_);
  EXPECT_EQ(wish.generation(), 1);
  EXPECT_TRUE(wish.follow());

  v1::RelayLogsResponse response;
  const auto relay_context = Call();
  const auto relay = stub_->RelayLogs(relay_context.get(), &response);
  ASSERT_TRUE(relay->Write(Chunk(wish.reader_id(), "one", false)));
  v1::LogChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.data(), "one");
  EXPECT_EQ(chunk.rank(), 0);  // The rank that the relay was asked for, not the one that it sent.
  EXPECT_EQ(chunk.generation(), 1);
  ASSERT_TRUE(relay->Write(Chunk(wish.reader_id(), "two", true, 3)));
  relay->WritesDone();
  EXPECT_OK(common::FromGrpc(relay->Finish()));
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.data(), "two");
  EXPECT_TRUE(chunk.end());
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_OK(common::FromGrpc(reader->Finish()));
  // The client has disconnected.
  ASSERT_TRUE(agent_.Read());
  EXPECT_EQ(agent_.desired.log_readers_size(), 0);
}

TEST_F(LogsTest, AReaderThatGoesAwayEndsItsRelay) {
  auto context = Call();
  const auto reader = stub_->ReadLogs(context.get(), Request(0));
  ASSERT_TRUE(agent_.Read());
  const std::string id = agent_.desired.log_readers(0).reader_id();
  v1::RelayLogsResponse response;
  const auto relay_context = Call();
  const auto relay = stub_->RelayLogs(relay_context.get(), &response);
  ASSERT_TRUE(relay->Write(Chunk(id, "one", false)));
  v1::LogChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  context->TryCancel();
  while (relay->Write(Chunk(id, "more", false, 3))) {
  }
  EXPECT_FALSE(relay->Finish().ok());
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(LogsTest, ARelayThatBreaksIsOpenedAgainAndResumes) {
  const auto context = Call();
  const auto reader = stub_->ReadLogs(context.get(), Request(0));
  ASSERT_TRUE(agent_.Read());
  const std::string first = agent_.desired.log_readers(0).reader_id();
  v1::RelayLogsResponse response;
  v1::LogChunk chunk;
  {
    const auto relay_context = Call();
    const auto relay = stub_->RelayLogs(relay_context.get(), &response);
    ASSERT_TRUE(relay->Write(Chunk(first, "one", false)));
    ASSERT_TRUE(reader->Read(&chunk));
    relay->WritesDone();
    relay->Finish();
  }
  ASSERT_TRUE(agent_.Read());
  ASSERT_EQ(agent_.desired.log_readers_size(), 1);
  const v1::LogReader second = agent_.desired.log_readers(0);
  EXPECT_NE(second.reader_id(), first);
  EXPECT_EQ(second.stdout_offset(), 3);
  const auto relay_context = Call();
  const auto relay = stub_->RelayLogs(relay_context.get(), &response);
  ASSERT_TRUE(relay->Write(Chunk(second.reader_id(), "two", true, 3)));
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.data(), "two");
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_OK(common::FromGrpc(reader->Finish()));
}

// A client that resumes would otherwise not know whether anyone is there.
TEST_F(LogsTest, AnAcceptedCallIsAnsweredBeforeThereIsOutput) {
  const auto context = Call();
  const auto reader = stub_->ReadLogs(context.get(), Request(0));
  reader->WaitForInitialMetadata();
  EXPECT_EQ(context->GetServerInitialMetadata().count(common::kStreamOpen), 1u);
  const auto stranger = Call("stranger");
  const auto refused = stub_->ReadLogs(stranger.get(), Request(0));
  refused->WaitForInitialMetadata();
  EXPECT_EQ(stranger->GetServerInitialMetadata().count(common::kStreamOpen), 0u);
  EXPECT_EQ(refused->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(LogsTest, SaysWhatIsNotThere) {
  const auto ended = [this](v1::ReadLogsRequest request) {
    const auto context = Call();
    const auto reader = stub_->ReadLogs(context.get(), request);
    v1::LogChunk chunk;
    EXPECT_FALSE(reader->Read(&chunk));
    return common::FromGrpc(reader->Finish());
  };
  EXPECT_THAT(ended(Request(7)), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no rank 7")));
  v1::ReadLogsRequest request = Request(0);
  request.set_generation(9);
  EXPECT_THAT(ended(request), StatusIs(absl::StatusCode::kNotFound, HasSubstr("generation 9")));
  request.set_job_id("nope");
  EXPECT_THAT(ended(request), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no job nope")));
}

TEST_F(LogsTest, ReaderIdsCannotBeGuessed) {
  std::set<std::string> ids;
  for (size_t i = 1; i <= 3; ++i) {
    readings_.push_back(Call());
    readers_.push_back(stub_->ReadLogs(readings_.back().get(), Request(0)));
    ASSERT_TRUE(agent_.Read());
    for (const v1::LogReader& reader : agent_.desired.log_readers()) ids.insert(reader.reader_id());
    ASSERT_EQ(ids.size(), i);
  }
  for (const std::string& id : ids) EXPECT_GE(id.size(), 32u) << id;
}

TEST_F(LogsTest, ALargeChunkIsRefused) {
  const auto context = Call();
  const auto reader = stub_->ReadLogs(context.get(), Request(0));
  ASSERT_TRUE(agent_.Read());
  v1::RelayLogsResponse response;
  const auto relay_context = Call();
  const auto relay = stub_->RelayLogs(relay_context.get(), &response);
  const std::string id = agent_.desired.log_readers(0).reader_id();
  ASSERT_TRUE(relay->Write(Chunk(id, std::string(64 << 10, 'x'), false)));
  v1::LogChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  ASSERT_TRUE(relay->Write(Chunk(id, std::string((64 << 10) + 1, 'x'), false, 64 << 10)));
  EXPECT_THAT(common::FromGrpc(relay->Finish()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 65536")));
}

TEST_F(LogsTest, AnUnknownRelayIsRefused) {
  v1::RelayLogsResponse response;
  const auto context = Call();
  const auto relay = stub_->RelayLogs(context.get(), &response);
  ASSERT_TRUE(relay->Write(Chunk("r99-0", "x", false)));
  EXPECT_THAT(common::FromGrpc(relay->Finish()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no client reads")));
}

}  // namespace
}  // namespace accel::coordinator
