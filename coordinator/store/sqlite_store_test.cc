#include "coordinator/store/sqlite_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

class SqliteStoreTest : public ::testing::Test {
 protected:
  SqliteStoreTest() { std::filesystem::remove_all(path_); }

  static absl::Status Commit(RowBatch batch, Store* store) {
    std::optional<absl::Status> result;
    absl::Notification done;
    store->Commit(std::move(batch), [&](absl::Status status) {
      result = std::move(status);
      done.Notify();
    });
    done.WaitForNotification();
    return *result;
  }

  const std::string path_ = ::testing::TempDir() + "/sqlite_store_test.db";
};

TEST_F(SqliteStoreTest, ANewStoreLoadsWhatAnEarlierOneCommitted) {
  {
    ASSERT_OK_AND_ASSIGN(auto store, SqliteStore::Open(path_));
    ASSERT_OK_AND_ASSIGN(const std::vector<Row> none, store->Load());
    EXPECT_TRUE(none.empty());
    EXPECT_OK(Commit({{{"a", "1"}, {"b", "2"}}, {}}, store.get()));
    EXPECT_OK(Commit({{}, {"a"}}, store.get()));
  }
  ASSERT_OK_AND_ASSIGN(auto store, SqliteStore::Open(path_));
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, store->Load());
  EXPECT_EQ(rows, (std::vector<Row>{{"b", "2"}}));
}

TEST_F(SqliteStoreTest, TheEndWaitsForTheCommitInProgress) {
  std::optional<absl::Status> result;
  {
    ASSERT_OK_AND_ASSIGN(auto store, SqliteStore::Open(path_));
    store->Commit({{{"a", "1"}}, {}}, [&result](absl::Status status) { result = status; });
  }
  ASSERT_TRUE(result.has_value());
  EXPECT_OK(*result);
}

}  // namespace
}  // namespace accel::coordinator
