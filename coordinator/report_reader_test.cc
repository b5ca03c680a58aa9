#include "coordinator/report_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/status_matchers.h"
#include "coordinator/core/node_report_fixture.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

v1::NodeObserved Report(uint64_t sequence) {
  v1::NodeObserved report;
  report.set_node_id("a");
  report.set_sequence(sequence);
  report.mutable_inventory()->add_gpus()->set_name("H200");
  report.add_store_sockets()->set_id(7);
  report.add_addresses("10.0.0.1");
  report.add_generations()->set_job_id("j");
  report.set_applied_version(3);
  report.set_made_us(100 * static_cast<int64_t>(sequence));
  return report;
}

class ReportReaderTest : public ::testing::Test {
 protected:
  NodeReport Read(const v1::NodeObserved& report) { return ReadBytes(report.SerializeAsString()); }

  NodeReport ReadBytes(const std::string& bytes) {
    const grpc::Slice slice(bytes);
    absl::StatusOr<NodeReport> read = reader_.Read(grpc::ByteBuffer(&slice, 1));
    EXPECT_OK(read);
    return read.ok() ? *std::move(read) : NodeReport();
  }

  // Expects that the next report has this news, and everything else than an omitted description.
  void ExpectNews(const v1::NodeObserved& report, News news) {
    const NodeReport read = Read(report);
    EXPECT_EQ(read.news, news);
    const v1::NodeObserved expected =
        news == News::kDescription ? report : WithoutDescription(report);
    EXPECT_EQ(read.observed.SerializeAsString(), expected.SerializeAsString());
  }

  ReportReader reader_;
};

TEST_F(ReportReaderTest, TheFirstReportIsNews) { ExpectNews(Report(1), News::kDescription); }

TEST_F(ReportReaderTest, OnlyTheSequenceAndTheTimesDifferInAHeartbeat) {
  Read(Report(1));
  v1::NodeObserved next = Report(2);
  next.set_answered_us(77);
  ExpectNews(next, News::kNothing);
}

TEST_F(ReportReaderTest, AChangeOfAnyFieldIsNews) {
  const std::map<std::string, News> expected = {
      {"sequence", News::kNothing},    {"made_us", News::kNothing},
      {"answered_us", News::kNothing}, {"applied_version", News::kVersion},
      {"generations", News::kState},   {"refuses_work", News::kState},
      {"goodbye", News::kState},       {"node_id", News::kState},
      {"agent_stops", News::kState},
  };
  const google::protobuf::Descriptor& type = *v1::NodeObserved::GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const auto known = expected.find(type.field(i)->name());
    reader_ = ReportReader();
    Read(Report(1));
    v1::NodeObserved next = Report(2);
    Change(*type.field(i), &next);
    SCOPED_TRACE(type.field(i)->name());
    ExpectNews(next, known == expected.end() ? News::kDescription : known->second);
  }
}

TEST_F(ReportReaderTest, AChangeOfAnUnknownFieldIsNews) {
  const std::string field = "\xf2\x07\x01";  // Number 126, a string of one byte.
  ReadBytes(Report(1).SerializeAsString() + field + "x");
  EXPECT_EQ(ReadBytes(Report(2).SerializeAsString() + field + "x").news, News::kNothing);
  EXPECT_EQ(ReadBytes(Report(3).SerializeAsString() + field + "y").news, News::kDescription);
}

TEST_F(ReportReaderTest, TwoChangesAreTheMoreImportantNews) {
  v1::NodeObserved report = Report(1);
  Read(report);
  report.set_sequence(2);
  report.set_applied_version(4);
  report.set_refuses_work("no disk");
  ExpectNews(report, News::kState);
  report.set_sequence(3);
  report.clear_generations();
  report.mutable_store_sockets(0)->set_port(1);
  ExpectNews(report, News::kDescription);
}

TEST_F(ReportReaderTest, NoReportIsComparedWithOneThatIsIgnored) {
  Read(Report(5));
  // The coordinator ignores this report, and knows nothing of its sockets.
  v1::NodeObserved late = Report(4);
  late.add_store_sockets()->set_id(8);
  ExpectNews(late, News::kDescription);
  late.set_sequence(6);
  ExpectNews(late, News::kDescription);
  late.set_sequence(7);
  ExpectNews(late, News::kNothing);
  ExpectNews(late, News::kNothing);  // The same again.
  late.set_sequence(8);
  ExpectNews(late, News::kDescription);
}

TEST_F(ReportReaderTest, FieldsMayComeInAnyOrder) {
  v1::NodeObserved only;
  *only.mutable_inventory() = Report(0).inventory();
  const std::string description = only.SerializeAsString();
  const std::string others = WithoutDescription(Report(2)).SerializeAsString();
  EXPECT_EQ(ReadBytes(others + description).observed.inventory().gpus(0).name(), "H200");
  const NodeReport read =
      ReadBytes(description + WithoutDescription(Report(3)).SerializeAsString());
  EXPECT_EQ(read.news, News::kNothing);
  EXPECT_EQ(read.observed.sequence(), 3u);
  EXPECT_EQ(read.observed.generations(0).job_id(), "j");
}

TEST_F(ReportReaderTest, LargeReportsAreNotKept) {
  v1::NodeObserved large = Report(1);
  large.add_generations()->set_job_id(std::string(ReportReader::kMostKept, 'x'));
  ExpectNews(large, News::kDescription);
  large.set_sequence(2);
  ExpectNews(large, News::kDescription);
  ExpectNews(Report(3), News::kDescription);
  ExpectNews(Report(4), News::kNothing);
}

TEST_F(ReportReaderTest, BytesThatAreNoReportAreRefused) {
  const std::string whole = Report(2).SerializeAsString();
  Read(Report(1));
  const grpc::Slice cut(whole.substr(0, whole.size() - 1));
  EXPECT_THAT(reader_.Read(grpc::ByteBuffer(&cut, 1)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not such a message")));
  // The description is that of the report before, but a field of the rest is not what it should be.
  const grpc::Slice wild(whole + "\x5a\x01\xff");
  EXPECT_THAT(reader_.Read(grpc::ByteBuffer(&wild, 1)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not such a message")));
}

}  // namespace
}  // namespace accel::coordinator
