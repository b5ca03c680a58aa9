#include "runtime/checkpoint/saved_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "runtime/core/checkpoint_layout.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;

class SavedFormTest : public testing::Test {
 protected:
  SavedFormTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "model");
  }

  // Writes a file of safetensors with one tensor of one element.
  void write(const std::string& file, const std::string& tensor) const {
    const std::string header =
        "{\"" + tensor + R"(": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}})";
    const std::uint64_t size = header.size();
    std::ofstream out(folder_ / file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&size), sizeof(size)) << header << 'x';
  }

  SavedForm form_of(const std::set<std::string>& listed) const {
    Manifest manifest;
    for (const std::string& file : listed) manifest.files[file] = {};
    std::ofstream(folder_ / kManifestFile) << manifest_text(manifest);
    return SavedForm(folder_);
  }

  static std::vector<std::string> names(const weights::SavedFolder& opened) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : opened.saved().tensors) names.push_back(name);
    return names;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / "saved_form";
};

TEST_F(SavedFormTest, FilesThatTheManifestDoesNotListAreTheProgramsOwn) {
  write("model.safetensors", "saved");
  write("model/shard-0.safetensors", "foreign");
  const SavedForm form = form_of({"model.safetensors"});
  EXPECT_FALSE(form.has_parts("model"));
  EXPECT_THAT(names(form.open("model", "model.safetensors")), testing::ElementsAre("saved"));
}

TEST_F(SavedFormTest, OnlyListedPartsAreOpened) {
  write("model.safetensors", "foreign");
  write("model/shard-0.safetensors", "a");
  write("model/shard-1.safetensors", "b");
  write("model/shard-2.safetensors", "foreign");
  const SavedForm form = form_of({"model/shard-0.safetensors", "model/shard-1.safetensors"});
  EXPECT_TRUE(form.has_parts("model"));
  EXPECT_FALSE(form.has_parts("mode"));
  EXPECT_FALSE(form.has_file("model.safetensors"));
  EXPECT_THAT(names(form.open("model", "model.safetensors")), testing::ElementsAre("a", "b"));
}

}  // namespace
}  // namespace accel::runtime
