#include "upload/blob_folder.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "common/status_matchers.h"
#include "upload/fake_disk.h"

namespace accel::upload {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kHashOfAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class BlobFolderTest : public ::testing::Test {
 protected:
  BlobFolderTest() : path_(::testing::TempDir() + "/blobs") {
    std::filesystem::remove_all(path_);
    auto folder = BlobFolder::Open(path_);
    EXPECT_OK(folder);
    folder_.emplace(*std::move(folder));
  }

  std::vector<std::unique_ptr<BlobWriter>> Written(const std::string& sha256, int64_t size,
                                                   const std::string& bytes) {
    std::vector<std::unique_ptr<BlobWriter>> blobs;
    auto blob = folder_->Begin(sha256, size);
    EXPECT_OK(blob);
    appended_ = (*blob)->Append(bytes);
    blobs.push_back(*std::move(blob));
    return blobs;
  }

  size_t Temporary() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_ + "/tmp"),
                                             std::filesystem::directory_iterator()));
  }

  const std::string path_;
  std::optional<BlobFolder> folder_;
  absl::Status appended_;
};

TEST_F(BlobFolderTest, KeepsABlobUnderItsHash) {
  EXPECT_FALSE(folder_->Has(kHashOfAbc, 3));
  EXPECT_TRUE(absl::IsNotFound(folder_->OpenBlob(kHashOfAbc).status()));
  const auto blobs = Written(kHashOfAbc, 3, "abc");
  ASSERT_OK(appended_);
  EXPECT_TRUE(blobs[0]->is_whole());
  EXPECT_FALSE(folder_->Has(kHashOfAbc, 3)) << "it has no name yet";
  ASSERT_OK(folder_->Keep(blobs, Durability::kNames));
  EXPECT_TRUE(folder_->Has(kHashOfAbc, 3));
  EXPECT_FALSE(folder_->Has(kHashOfAbc, 4));
  ASSERT_OK_AND_ASSIGN(const common::UniqueFd file, folder_->OpenBlob(kHashOfAbc));
  char bytes[4] = {};
  EXPECT_EQ(read(file.get(), bytes, sizeof(bytes)), 3);
  EXPECT_STREQ(bytes, "abc");
  folder_->Touch(kHashOfAbc, absl::FromUnixSeconds(1000));
  ASSERT_THAT(folder_->List(), SizeIs(1));
  EXPECT_EQ(folder_->List()[0].used, absl::FromUnixSeconds(1000));
  folder_->Remove(kHashOfAbc);
  EXPECT_THAT(folder_->List(), IsEmpty());
}

TEST_F(BlobFolderTest, ANameIsGivenToBytesThatAreOnTheDisk) {
  std::vector<bool> had_name;  // At each sync.
  OnSync() = [&] {
    had_name.push_back(folder_->Has(kHashOfAbc, 3));
    return 0;
  };
  const auto keep = [&](Durability durability) {
    folder_->Remove(kHashOfAbc);
    had_name.clear();
    EXPECT_OK(folder_->Keep(Written(kHashOfAbc, 3, "abc"), durability));
    return had_name;
  };
  EXPECT_THAT(keep(Durability::kNone), IsEmpty());
  EXPECT_THAT(keep(Durability::kBytes), ElementsAre(false));
  EXPECT_THAT(keep(Durability::kNames), ElementsAre(false, true));
  had_name.clear();
  EXPECT_OK(folder_->Keep({}, Durability::kNames));
  EXPECT_THAT(had_name, ElementsAre(true)) << "for the names that were given before";
  ResetSyncs();
}

TEST_F(BlobFolderTest, AWholeBlobHasNoOpenFile) {
  const common::UniqueFd before(dup(STDIN_FILENO));
  const auto blobs = Written(kHashOfAbc, 3, "abc");
  ASSERT_TRUE(blobs[0]->is_whole());
  const common::UniqueFd after(dup(STDIN_FILENO));
  EXPECT_EQ(after.get(), before.get() + 1) << "the lowest that is free";
  EXPECT_TRUE(absl::IsInvalidArgument(blobs[0]->Append("d")));
  EXPECT_OK(folder_->Keep(blobs, Durability::kNone));
  EXPECT_TRUE(folder_->Has(kHashOfAbc, 3));
}

TEST_F(BlobFolderTest, WrongBytesLeaveNothing) {
  Written(kHashOfAbc, 3, "abd");
  EXPECT_THAT(appended_, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has the hash")));
  Written(kHashOfAbc, 3, "abcd");
  EXPECT_THAT(appended_, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("its 3 bytes")));
  {
    const auto partial = Written(kHashOfAbc, 3, "ab");
    EXPECT_OK(appended_);
    EXPECT_FALSE(partial[0]->is_whole());
    EXPECT_EQ(Temporary(), 1u);
  }
  EXPECT_EQ(Temporary(), 0u);
  EXPECT_THAT(folder_->List(), IsEmpty());
}

TEST_F(BlobFolderTest, WhatACrashLeavesIsRemoved) {
  std::ofstream(path_ + "/tmp/abcdef") << "half";
  EXPECT_OK(BlobFolder::Open(path_));
  EXPECT_EQ(Temporary(), 0u);
  EXPECT_FALSE(BlobFolder::Open(path_ + "/no/such").ok());
}

}  // namespace
}  // namespace accel::upload
