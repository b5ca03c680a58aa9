#include "runtime/checkpoint/verify.h"

#include <functional>

#include "runtime/checkpoint/checkpoint_test_folder.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class VerifyTest : public CheckpointFolderTest {
 protected:
  std::string error_of_newest() {
    try {
      newest();
    } catch (const CheckpointError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
};

TEST_F(VerifyTest, AnErrorOfTheSystemIsNotSkipped) {
  save(1, "one");
  save(2, "two");
  for (const char* name : {"optimizer.bin", "manifest.json", ""}) {
    const fs::path file = fs::path(parent_ / "checkpoint_2") / name;
    fs::rename(parent_ / "checkpoint_2", parent_ / "good");
    fs::copy(parent_ / "good", parent_ / "checkpoint_2", fs::copy_options::recursive);
    const fs::path broken = *name == '\0' ? parent_ / "checkpoint_2" : file;
    fs::remove_all(broken);
    fs::create_symlink(broken, broken);  // ELOOP stands for any error of the system.
    EXPECT_THAT(error_of_newest(), HasSubstr("Too many levels of symbolic links")) << name;
    EXPECT_THAT(skipped_, IsEmpty()) << name;
    fs::remove_all(parent_ / "checkpoint_2");
    fs::rename(parent_ / "good", parent_ / "checkpoint_2");
  }
  EXPECT_EQ(newest()->manifest.iteration, 2u);
}

TEST_F(VerifyTest, IfAllAreDamagedTheyAreNamedAndNothingIsLoaded) {
  save(1, "one");
  save(2, "two");
  fs::resize_file(parent_ / "checkpoint_1/optimizer.bin", 1);
  std::ofstream(parent_ / "checkpoint_2/manifest.json") << "{";
  EXPECT_THAT(error_of_newest(), AllOf(HasSubstr("damaged (checkpoint_2, checkpoint_1)"),
                                       HasSubstr("move them away to start from scratch")));
  EXPECT_THAT(skipped_, SizeIs(2));
}

TEST_F(VerifyTest, DamageIsNamedAndTheNewestGoodOneIsTaken) {
  const struct {
    const char* file;
    std::function<void(const fs::path&)> damage;
    const char* reason;
  } cases[] = {
      {"optimizer.bin", [](const fs::path& f) { fs::resize_file(f, 1); }, "torn: it has 1 bytes"},
      {"optimizer.bin", [](const fs::path& f) { std::ofstream(f) << "twO"; }, "corrupt"},
      {"model.safetensors", [](const fs::path& f) { fs::remove(f); }, "cannot open"},
      {"manifest.json", [](const fs::path& f) { fs::resize_file(f, 20); }, "torn"},
      {"manifest.json", [](const fs::path& f) { std::ofstream(f, std::ios::app) << "x"; }, "torn"},
  };
  for (const auto& [file, damage, reason] : cases) {
    SetUp();
    save(1, "one");
    save(2, "two");
    damage(parent_ / "checkpoint_2" / file);
    const auto found = newest();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->manifest.iteration, 1u);
    ASSERT_THAT(skipped_, SizeIs(1));
    EXPECT_THAT(skipped_[0], HasSubstr(file));
    EXPECT_THAT(skipped_[0], HasSubstr(reason));
    EXPECT_THROW(verify_checkpoint(parent_ / "checkpoint_2"), CheckpointError);
  }
}

}  // namespace
}  // namespace accel::runtime
