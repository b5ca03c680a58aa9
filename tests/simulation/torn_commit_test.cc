#include "tests/simulation/torn_commit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/status_matchers.h"

namespace accel::simulation {
namespace {

using coordinator::Row;
using coordinator::RowBatch;

const std::vector<Row> kBefore = {{"cluster", "one"}, {"jobs/a", "runs"}, {"jobs/b", "waits"}};

// Several pages, so that a part of them may be whole.
RowBatch Batch() { return {.put = {{"jobs/c", std::string(20'000, 'c')}}, .erase = {"jobs/b"}}; }

TEST(TornCommit, IsDroppedWhole) {
  for (const double part : {0.0, 0.1, 0.5, 0.9, 0.9999}) {
    const auto rows = RowsAfterTornCommit(kBefore, Batch(), part);
    ASSERT_OK(rows);
    EXPECT_EQ(*rows, kBefore) << part;
  }
}

TEST(TornCommit, IsThereIfAllItsBytesAre) {
  const auto rows = RowsAfterTornCommit(kBefore, Batch(), 1);
  ASSERT_OK(rows);
  const std::vector<Row> after = {kBefore[0], kBefore[1], Batch().put[0]};
  EXPECT_EQ(*rows, after);
}

}  // namespace
}  // namespace accel::simulation
