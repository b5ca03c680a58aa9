#include "upload/local_tree.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "common/status_matchers.h"

namespace accel::upload {
namespace {

namespace fs = std::filesystem;
using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kHashOfAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class LocalTreeTest : public ::testing::Test {
 protected:
  LocalTreeTest() : root_(::testing::TempDir() + "/tree") {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }

  const std::string root_;
};

TEST_F(LocalTreeTest, HasFilesAndLinksWithoutWhatIsLeftOut) {
  Write("train.py", "abc");
  Write("data/empty", "");
  Write("run.sh", "abc");
  chmod((root_ + "/run.sh").c_str(), 0700);
  fs::create_symlink("../train.py", root_ + "/data/link");
  fs::create_directories(root_ + "/nothing");
  Write(".git/HEAD", "x");
  Write("data/__pycache__/x.pyc", "x");
  Write("env/pyvenv.cfg", "x");
  fs::create_symlink("/usr/bin/python3", root_ + "/env/python");
  Write("big.log", "x");
  Write(".accelignore", "*.log\n");
  ASSERT_OK_AND_ASSIGN(LocalTree local, ListTree(root_));
  EXPECT_THAT(local.left_out, ElementsAre(".git/", "big.log", "data/__pycache__/", "env/"));
  ASSERT_OK(HashTree(&local));
  ASSERT_EQ(local.tree.size(), 5u);
  EXPECT_EQ(local.tree[1].path, "data/empty");
  EXPECT_EQ(local.tree[1].sha256,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(local.tree[2].link, "../train.py");
  EXPECT_TRUE(local.tree[3].executable);
  EXPECT_EQ(local.tree[4],
            (TreeEntry{.path = "train.py", .size = 3, .sha256 = kHashOfAbc, .link = ""}));
  EXPECT_OK(ParseManifest(ToManifest(local.tree)));
}

TEST_F(LocalTreeTest, OfAFileHasThatFile) {
  Write("train.py", "abc");
  Write("other", "abc");
  ASSERT_OK_AND_ASSIGN(const LocalTree local, ListTree(root_ + "/train.py"));
  ASSERT_EQ(local.tree.size(), 1u);
  EXPECT_EQ(local.tree[0].path, "train.py");
  EXPECT_EQ(local.root, fs::canonical(root_));
}

TEST_F(LocalTreeTest, RefusesWhatCannotTravel) {
  EXPECT_TRUE(absl::IsNotFound(ListTree(root_ + "/none").status()));
  EXPECT_THAT(ListTree(root_), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no file")));
  Write("a", "");
  fs::create_symlink("/etc/passwd", root_ + "/secret");
  EXPECT_THAT(ListTree(root_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("secret cannot be uploaded: it is a link that leads")));
  Write(".accelignore", "secret\n[");
  EXPECT_THAT(ListTree(root_), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr(".accelignore: line 2: a class")));
  Write(".accelignore", "secret");
  EXPECT_OK(ListTree(root_));
  ASSERT_EQ(mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(ListTree(root_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pipe cannot be uploaded")));
  fs::remove(root_ + "/pipe");
  fs::resize_file(root_ + "/a", (uintmax_t{2} << 30) + 1);
  EXPECT_THAT(ListTree(root_),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("a alone has 2048 MiB")));
}

TEST_F(LocalTreeTest, AFileThatChangesIsNoticed) {
  Write("a", "abc");
  for (const char* other : {"ab", "abcd"}) {
    ASSERT_OK_AND_ASSIGN(LocalTree local, ListTree(root_));
    Write("a", other);
    EXPECT_THAT(HashTree(&local),
                StatusIs(absl::StatusCode::kAborted, HasSubstr("a changed while")));
    Write("a", "abc");
  }
}

}  // namespace
}  // namespace accel::upload
