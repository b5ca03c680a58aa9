#include "coordinator/blobs/blob_store.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/status_matchers.h"
#include "security/sha256.h"
#include "upload/core/bad_trees.h"
#include "upload/fake_disk.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr absl::Duration kDay = absl::Hours(24);

std::string HashOf(const std::string& text) {
  return absl::BytesToHexString(security::Sha256(text));
}

// Returns the manifest of a tree with these files, each named by its content.
std::string ManifestOf(const std::set<std::string>& texts) {
  upload::Tree tree;
  for (const std::string& text : texts) {
    tree.push_back({.path = "of_" + text,
                    .size = static_cast<int64_t>(text.size()),
                    .sha256 = HashOf(text),
                    .link = ""});
  }
  return upload::ToManifest(tree);
}

class BlobStoreTest : public ::testing::Test {
 protected:
  BlobStoreTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    Open({});
  }
  ~BlobStoreTest() override {
    upload::ResetSyncs();
    std::filesystem::remove_all(folder_);
  }

  void Open(BlobStore::Options options) {
    options.path = folder_ + "/blobs";
    options.space = [this](const std::string&) { return space_; };
    store_.reset();
    auto store = BlobStore::Open(options);
    EXPECT_OK(store);
    store_ = *std::move(store);
  }

  absl::Status Put(const std::string& user, const std::set<std::string>& texts) {
    ACCEL_ASSIGN_OR_RETURN(const auto upload, store_->BeginUpload(user));
    for (const std::string& text : texts) {
      ACCEL_RETURN_IF_ERROR(upload->Take(HashOf(text), static_cast<int64_t>(text.size()), text));
    }
    return upload->End();
  }

  // Sends a whole tree. Returns its name.
  std::string Upload(const std::string& user, const std::set<std::string>& texts) {
    EXPECT_OK(Put(user, texts));
    EXPECT_THAT(*store_->Missing(user, ManifestOf(texts), now_), IsEmpty());
    return HashOf(ManifestOf(texts));
  }

  // The file of a tree. The user is the only one.
  std::string PathOfTree(const std::string& tree) const {
    const auto user = std::filesystem::directory_iterator(folder_ + "/blobs");
    return user->path().string() + "/trees/" + tree.substr(0, 2) + "/" + tree;
  }

  std::string folder_ = "/tmp/blob_store.XXXXXX";
  DiskSpace space_ = {.free = int64_t{1} << 40, .total = int64_t{1} << 41};
  absl::Time now_ = absl::Now();
  std::unique_ptr<BlobStore> store_;
};

TEST_F(BlobStoreTest, ATreeIsCompleteWithItsLastBlob) {
  const std::string manifest = ManifestOf({"a", "b", ""});
  const std::string tree = HashOf(manifest);
  EXPECT_THAT(*store_->Missing("ann", manifest, now_),
              ElementsAre(HashOf(""), HashOf("a"), HashOf("b")));
  ASSERT_OK(Put("ann", {"a", ""}));
  EXPECT_THAT(*store_->Missing("ann", manifest, now_), ElementsAre(HashOf("b")));
  EXPECT_FALSE(store_->HasTree("ann", tree));
  ASSERT_OK(Put("ann", {"b"}));
  EXPECT_THAT(*store_->Missing("ann", manifest, now_), IsEmpty());
  EXPECT_TRUE(store_->HasTree("ann", tree));
  EXPECT_EQ(*store_->ReadManifest("ann", tree), manifest);
  // It is there after a restart too.
  Open({});
  EXPECT_TRUE(store_->HasTree("ann", tree));
  EXPECT_FALSE(store_->HasTree("ann", "../" + tree));
  ASSERT_OK_AND_ASSIGN(const common::UniqueFd file, store_->OpenBlob("ann", HashOf("b")));
  char byte = 0;
  EXPECT_EQ(read(file.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'b');
}

TEST_F(BlobStoreTest, UsersLearnNothingOfEachOther) {
  const std::string tree = Upload("ann", {"a"});
  EXPECT_THAT(*store_->Missing("bob", ManifestOf({"a"}), now_), ElementsAre(HashOf("a")));
  EXPECT_FALSE(store_->HasTree("bob", tree));
  EXPECT_TRUE(absl::IsNotFound(store_->OpenBlob("bob", HashOf("a")).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->ReadManifest("bob", tree).status()));
}

TEST_F(BlobStoreTest, RefusesEachBadTree) {
  for (const upload::BadTree& bad : upload::BadTrees()) {
    EXPECT_FALSE(store_->Missing("ann", upload::ToManifest(bad.tree), now_).ok()) << bad.what;
  }
}

TEST_F(BlobStoreTest, WrongBlobsAreRefused) {
  const auto upload = *store_->BeginUpload("ann");
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(upload->Take("", 0, "x"), StatusIs(kInvalid, HasSubstr("no blob")));
  EXPECT_THAT(upload->Take("../../x", 1, "x"), StatusIs(kInvalid, HasSubstr("64")));
  EXPECT_THAT(upload->Take(HashOf("x"), -1, "x"), StatusIs(kInvalid, HasSubstr("size")));
  EXPECT_THAT(upload->Take(HashOf("x"), 1, std::string(upload::kMaxChunkBytes + 1, 'x')),
              StatusIs(kExhausted, HasSubstr("at most 262144")));
  EXPECT_THAT(upload->Take(HashOf("x"), 1, "y"), StatusIs(kInvalid, HasSubstr("has the hash")));
  EXPECT_THAT(Put("ann", {}), StatusIs(absl::StatusCode::kOk, ""));
}

TEST_F(BlobStoreTest, WhatArrivedWholeIsKeptWhenTheStreamBreaks) {
  {
    const auto upload = *store_->BeginUpload("ann");
    ASSERT_OK(upload->Take(HashOf("a"), 1, "a"));
    ASSERT_OK(upload->Take(HashOf("long"), 4, "lo"));
    EXPECT_FALSE(upload->Take(HashOf("b"), 1, "b").ok()) << "the blob before is not whole";
    EXPECT_TRUE(absl::IsInvalidArgument(upload->End()));
  }
  EXPECT_THAT(*store_->Missing("ann", ManifestOf({"a", "long"}), now_),
              ElementsAre(HashOf("long")));
}

// More than one group of blobs that are synced together.
std::set<std::string> ManyTexts() {
  std::set<std::string> texts;
  for (int i = 0; i < 1100; ++i) texts.insert(std::to_string(i));
  return texts;
}

TEST_F(BlobStoreTest, BlobsArriveWhileTheDiskIsBusy) {
  absl::Notification all_arrived;
  bool was_in_time = true;
  upload::OnSync() = [&] {
    was_in_time &= all_arrived.WaitForNotificationWithTimeout(absl::Seconds(20));
    return 0;
  };
  const auto upload = *store_->BeginUpload("ann");
  int count = 0;
  for (const std::string& text : ManyTexts()) {
    ASSERT_OK(upload->Take(HashOf(text), static_cast<int64_t>(text.size()), text));
    if (++count == 1000) break;
  }
  all_arrived.Notify();
  EXPECT_OK(upload->End());
  EXPECT_TRUE(was_in_time);
}

TEST_F(BlobStoreTest, AllNamesAreOnTheDiskAtTheEnd) {
  const std::set<std::string> texts = ManyTexts();
  size_t named = 0;  // At the last sync.
  upload::OnSync() = [&] {
    named = 0;
    for (const std::string& text : texts) named += store_->OpenBlob("ann", HashOf(text)).ok();
    return 0;
  };
  ASSERT_OK(Put("ann", texts));
  EXPECT_EQ(named, texts.size());
  const auto upload = *store_->BeginUpload("bob");
  int syncs = 0;
  upload::OnSync() = [&] {
    ++syncs;
    return 0;
  };
  for (int i = 0; i < 512; ++i) {
    const std::string text = std::to_string(i);
    ASSERT_OK(upload->Take(HashOf(text), static_cast<int64_t>(text.size()), text));
  }
  ASSERT_OK(upload->End());
  EXPECT_EQ(syncs, 2) << "the bytes of one group, and then the names";
}

TEST_F(BlobStoreTest, AnErrorOfTheDiskEndsTheUpload) {
  upload::OnSync() = upload::FailedSync;
  EXPECT_THAT(Put("ann", {"a"}), StatusIs(absl::StatusCode::kUnknown, HasSubstr("to the disk")));
  EXPECT_FALSE(Put("ann", ManyTexts()).ok());
  EXPECT_FALSE(store_->OpenBlob("ann", HashOf("a")).ok());
}

TEST_F(BlobStoreTest, WhatAnErrorHasLostIsNotCounted) {
  Open({.max_user_bytes = 16, .max_user_blobs = 2});
  upload::OnSync() = upload::FailedSync;
  EXPECT_FALSE(Put("ann", {"12345678", "abcdefgh"}).ok());
  upload::OnSync() = [] { return 0; };
  EXPECT_OK(Put("ann", {"12345678", "ABCDEFGH"}));
}

TEST_F(BlobStoreTest, AUserHasAtMostHisShare) {
  Open({.max_user_bytes = 16, .max_user_blobs = 4});
  ASSERT_OK(Put("ann", {"1234", "5678"}));
  ASSERT_OK(Put("ann", {"1234", "5678"}));  // What is there already is counted once.
  EXPECT_THAT(store_->Missing("ann", ManifestOf({"1234", "abcdefghi"}), now_),
              StatusIs(kExhausted, HasSubstr("removed after a week")));
  EXPECT_THAT(Put("ann", {"abcdefghi"}), StatusIs(kExhausted, HasSubstr("at most 0 MiB in 4")));
  ASSERT_OK(Put("ann", {"8"}));
  ASSERT_OK(Put("ann", {"9"}));
  EXPECT_FALSE(Put("ann", {"0"}).ok());
  EXPECT_OK(Put("bob", {"abcd"}));
  Open({.max_user_bytes = 16, .max_user_blobs = 4});
  EXPECT_FALSE(Put("ann", {"0"}).ok()) << "also after a restart";
  const auto first = *store_->BeginUpload("ann");
  const auto second = *store_->BeginUpload("ann");
  EXPECT_THAT(store_->BeginUpload("ann"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("in progress")));
  EXPECT_OK(store_->BeginUpload("bob"));
}

TEST_F(BlobStoreTest, TheDiskKeepsSomeSpace) {
  space_ = {.free = (int64_t{1} << 30) + 3, .total = int64_t{1} << 31};
  EXPECT_OK(store_->Missing("ann", ManifestOf({"abc"}), now_));
  EXPECT_THAT(store_->Missing("ann", ManifestOf({"abcd"}), now_),
              StatusIs(kExhausted, HasSubstr("leave 1024 MiB free")));
  space_ = {.free = int64_t{5} << 30, .total = int64_t{101} << 30};
  EXPECT_FALSE(Put("ann", {"a"}).ok());
}

TEST_F(BlobStoreTest, WhatNoJobNeedsGoesAfterAWeek) {
  const std::string needed = Upload("ann", {"a", "b"});
  const std::string old = Upload("ann", {"b", "c"});
  ASSERT_OK(Put("ann", {"stray"}));
  store_->Tidy({{"ann", needed}}, now_ + 6 * kDay);
  EXPECT_TRUE(store_->HasTree("ann", old));
  store_->Tidy({{"ann", needed}, {"bob", old}}, now_ + 8 * kDay);
  EXPECT_TRUE(store_->HasTree("ann", needed));
  EXPECT_FALSE(store_->HasTree("ann", old));
  EXPECT_THAT(*store_->Missing("ann", ManifestOf({"a", "b", "c", "stray"}), now_ + 8 * kDay),
              ElementsAre(HashOf("c"), HashOf("stray")));
  // A week after the last job that needed it.
  store_->Tidy({}, now_ + 14 * kDay);
  EXPECT_TRUE(store_->HasTree("ann", needed));
  store_->Tidy({}, now_ + 16 * kDay);
  EXPECT_FALSE(store_->HasTree("ann", needed));
  EXPECT_FALSE(store_->OpenBlob("ann", HashOf("a")).ok());
}

TEST_F(BlobStoreTest, ATreeThatCannotBeReadNowStays) {
  const std::string tree = Upload("ann", {"a"});
  const std::string path = PathOfTree(tree);
  // It is one that cannot be opened, because of the link.
  std::filesystem::rename(path, folder_ + "/aside");
  std::filesystem::create_symlink(folder_ + "/aside", path);
  store_->Tidy({}, now_);
  EXPECT_TRUE(std::filesystem::exists(path));
  store_->Tidy({{"ann", tree}}, now_ + 8 * kDay);
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::rename(folder_ + "/aside", path);
  EXPECT_TRUE(store_->HasTree("ann", tree));
  EXPECT_OK(store_->OpenBlob("ann", HashOf("a"))) << "it may be one of the tree's";
}

TEST_F(BlobStoreTest, ADamagedTreeGoesUnlessAJobNamesIt) {
  const std::string tree = Upload("ann", {"a"});
  std::ofstream(PathOfTree(tree)) << ManifestOf({"b"});
  store_->Tidy({{"ann", tree}}, now_);
  EXPECT_TRUE(store_->HasTree("ann", tree));
  store_->Tidy({}, now_);
  EXPECT_FALSE(store_->HasTree("ann", tree));
}

TEST_F(BlobStoreTest, TreesCountToo) {
  const std::string manifest = ManifestOf({"a"});
  const auto size = static_cast<int64_t>(manifest.size());
  const auto limited = [&](int64_t bytes, int64_t blobs) {
    Open({.max_user_bytes = bytes, .max_user_blobs = blobs});
    return store_->Missing("ann", manifest, now_).status();
  };
  ASSERT_OK(Put("ann", {"a"}));
  EXPECT_THAT(limited(size, 2), StatusIs(kExhausted, HasSubstr("are kept for a user")));
  EXPECT_THAT(limited(size + 1, 1), StatusIs(kExhausted, HasSubstr("are kept for a user")));
  ASSERT_OK(limited(size + 1, 2));
  ASSERT_OK(store_->Missing("ann", manifest, now_)) << "it is counted once";
  EXPECT_FALSE(Put("ann", {""}).ok());
  Open({.max_user_bytes = size + 1, .max_user_blobs = 2});
  EXPECT_FALSE(Put("ann", {""}).ok()) << "also after a restart";
  store_->Tidy({}, now_ + 8 * kDay);
  EXPECT_OK(Put("ann", {"a", ""}));
}

}  // namespace
}  // namespace accel::coordinator
