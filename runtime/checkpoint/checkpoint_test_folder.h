// A folder of checkpoints for tests, with a small checkpoint to save, damage and find in it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accel/errors.h"
#include "runtime/checkpoint/commit.h"
#include "runtime/checkpoint/verify.h"
#include "runtime/core/checkpoint_layout.h"

namespace accel::runtime {

// Each test starts with an empty folder `parent_`.
class CheckpointFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(parent_);
    std::filesystem::create_directories(parent_);
  }

  // Saves checkpoint_`iteration`, all of whose files contain `content`: one extra file, as a hook
  // writes it, and two files of the checkpoint itself.
  void save(std::uint64_t iteration, const std::string& content, CommitOptions options = {}) {
    options.iteration = iteration;
    const std::filesystem::path folder = parent_ / checkpoint_name(iteration);
    std::ofstream(begin_checkpoint(folder) / "extra.txt") << content;
    const auto file = [&](std::string name, int times) {
      return CheckpointFile{.name = std::move(name), .write = [&content, times](const auto& sink) {
                              for (int i = 0; i < times; ++i) sink(content);
                            }};
    };
    commit_checkpoint(folder, {file("model.safetensors", 2), file("optimizer.bin", 1)}, options);
  }

  static std::string read(const std::filesystem::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  // Returns the newest checkpoint, and keeps in skipped_ why others were skipped.
  std::optional<FoundCheckpoint> newest() {
    skipped_.clear();
    return newest_checkpoint(parent_, [&](const std::string& why) { skipped_.push_back(why); });
  }

  // Returns the content of checkpoint_`iteration`, all of whose files must be of the same save.
  std::string content_of(std::uint64_t iteration) {
    const std::filesystem::path folder = parent_ / checkpoint_name(iteration);
    EXPECT_NO_THROW(verify_checkpoint(folder));
    const std::string content = read(folder / "optimizer.bin");
    EXPECT_EQ(read(folder / "model.safetensors"), content + content);
    EXPECT_EQ(read(folder / "extra.txt"), content);
    return content;
  }

  const std::filesystem::path parent_ = std::filesystem::path(testing::TempDir()) / "checkpoints";
  std::vector<std::string> skipped_;
};

}  // namespace accel::runtime
