#include "rendezvous/core/key_table.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace accel::rendezvous {
namespace {

TEST(KeyTable, AnEntryIsChargedUntilItIsErased) {
  MemoryBudget budget(1 << 20);
  KeyTable table(&budget);
  StoreEntry* entry = table.FindOrInsert("key");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(*entry->key, "key");
  EXPECT_GT(budget.used(), std::string("key").size());
  const size_t used = budget.used();
  EXPECT_EQ(table.FindOrInsert("key"), entry);
  EXPECT_EQ(table.Find("key"), entry);
  EXPECT_EQ(budget.used(), used);
  table.EraseIfUnused(entry);
  EXPECT_EQ(table.Find("key"), nullptr);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(KeyTable, AnEntryThatIsUsedIsKept) {
  MemoryBudget budget(1 << 20);
  KeyTable table(&budget);
  StoreEntry* entry = table.FindOrInsert("key");
  WaitNode node;
  entry->waits.PushBack(&node);
  table.EraseIfUnused(entry);
  EXPECT_EQ(table.Find("key"), entry);
  EXPECT_FALSE(table.Ready("key"));
  entry->waits.Remove(&node);
  entry->has_value = true;
  table.EraseIfUnused(entry);
  EXPECT_EQ(table.Find("key"), entry);
  EXPECT_TRUE(table.Ready("key"));
}

TEST(KeyTable, AFullBudgetRefusesANewKeyButFindsAnOldOne) {
  MemoryBudget budget(1000);
  KeyTable table(&budget);
  StoreEntry* entry = table.FindOrInsert("key");
  ASSERT_NE(entry, nullptr);
  const size_t used = budget.used();
  EXPECT_EQ(table.FindOrInsert(std::string(1000, 'x')), nullptr);
  EXPECT_EQ(budget.used(), used);
  EXPECT_EQ(table.FindOrInsert("key"), entry);
}

TEST(KeyTable, EntriesNeverMove) {
  MemoryBudget budget(1 << 20);
  KeyTable table(&budget);
  const StoreEntry* first = table.FindOrInsert("first");
  for (int i = 0; i < 1000; ++i) ASSERT_NE(table.FindOrInsert(std::to_string(i)), nullptr);
  EXPECT_EQ(table.Find("first"), first);
}

}  // namespace
}  // namespace accel::rendezvous
