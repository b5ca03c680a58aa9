#include "agent/code/blob_cache.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/time/clock.h"
#include "agent/code/fetched_code_fixture.h"

namespace accel::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

using BlobCacheTest = FetchedCodeTest;

TEST_F(BlobCacheTest, WhatThisAgentHasComparedIsNotReadForItsHashAgain) {
  ASSERT_OK(Fetch("j1"));
  const std::string path = PathOf(HashOf("a b c"));
  ASSERT_OK_AND_ASSIGN(upload::BlobFolder folder, upload::BlobFolder::Open(folder_ + "/uploads"));
  BlobCache cache(folder, std::make_unique<FakeSource>(&blobs_));
  const auto verified = [&] { return cache.OpenBlob(HashOf("a b c"), absl::Now())->is_verified; };
  EXPECT_FALSE(verified()) << "another agent has compared it";
  const auto hold = [](const auto&) { return true; };
  cache.NoteHash(HashOf("a b c"), *cache.OpenBlob(HashOf("a b c"), absl::Now()), true, absl::Now());
  EXPECT_TRUE(verified());
  ASSERT_OK(cache.FetchBlobs(common::JobId("j1"), tree_, absl::Now() - absl::Hours(1), hold));
  EXPECT_TRUE(verified()) << "its use was noted";
  fs::last_write_time(path, fs::file_time_type::clock::now());
  EXPECT_FALSE(verified()) << "something else has changed it";
  fs::remove(path);
  ASSERT_OK(cache.FetchBlobs(common::JobId("j1"), tree_, absl::Now(), hold));
  EXPECT_TRUE(verified()) << "it was compared while it arrived";
  cache.NoteHash(HashOf("a b c"), *cache.OpenBlob(HashOf("a b c"), absl::Now()), false,
                 absl::Now());
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(BlobCacheTest, AUseIsNotedAgainAfterAWhile) {
  ASSERT_OK(Fetch("j1"));
  ASSERT_OK_AND_ASSIGN(upload::BlobFolder folder, upload::BlobFolder::Open(folder_ + "/uploads"));
  const auto used = [&] { return fs::last_write_time(PathOf(HashOf("a b c"))); };
  folder.Touch(HashOf("a b c"), absl::Now() - BlobCache::kUsePause / 2);
  const auto recent = used();
  ASSERT_OK(Fetch("j2"));
  EXPECT_EQ(used(), recent);
  folder.Touch(HashOf("a b c"), absl::Now() - BlobCache::kUsePause * 2);
  ASSERT_OK(Fetch("j3"));
  EXPECT_GT(used(), recent);
}

TEST_F(BlobCacheTest, TheCacheHasABound) {
  ASSERT_OK(Fetch("j1"));
  ASSERT_OK_AND_ASSIGN(upload::BlobFolder folder, upload::BlobFolder::Open(folder_ + "/uploads"));
  folder.Touch(HashOf("a b c"), absl::Now() - absl::Hours(1));
  const BlobCache cache(folder, nullptr);
  const size_t before = folder.List().size();
  int64_t bytes = 0;
  for (const upload::BlobFile& blob : folder.List()) bytes += blob.size;
  cache.Shrink(bytes - 1);
  EXPECT_EQ(folder.List().size(), before - 1);
  EXPECT_FALSE(folder.Has(HashOf("a b c"), 5)) << "the one that was not used for the longest time";
  cache.Shrink(0);
  EXPECT_THAT(folder.List(), IsEmpty());
}

TEST_F(BlobCacheTest, AFailedFetchMakesRoomToo) {
  ASSERT_OK(Fetch("j1"));
  ASSERT_OK_AND_ASSIGN(upload::BlobFolder folder, upload::BlobFolder::Open(folder_ + "/uploads"));
  folder.Touch(HashOf("a b c"), absl::Now() - absl::Hours(1));
  const std::string large = HashOf("large");
  fs::create_directories(fs::path(PathOf(large)).parent_path());
  std::ofstream(PathOf(large)).close();
  ASSERT_EQ(truncate(PathOf(large).c_str(), BlobCache::kMaxBytes), 0);  // It takes no blocks.
  folder.Touch(large, absl::Now() - absl::Minutes(1));
  AddFile("zz", "z");
  blobs_.blobs.erase(HashOf("z"));
  EXPECT_FALSE(Fetch("j2").ok());
  code_.reset();  // The room is made after the answer.
  EXPECT_FALSE(folder.Has(large, BlobCache::kMaxBytes));
  EXPECT_TRUE(folder.Has(HashOf("a b c"), 5)) << "the job that failed has just used it";
}

}  // namespace
}  // namespace accel::agent
