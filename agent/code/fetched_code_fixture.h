// A FetchedCode with a fake coordinator and a fake disk, for tests.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "agent/code/fake_blob_source.h"
#include "agent/code/fetched_code.h"
#include "common/status_matchers.h"
#include "security/sha256.h"
#include "upload/core/bad_trees.h"
#include "upload/fake_disk.h"

namespace accel::agent {

inline std::string HashOf(const std::string& text) {
  return absl::BytesToHexString(security::Sha256(text));
}

// A fixture with one user, whose jobs all have the same tree.
class FetchedCodeTest : public ::testing::Test {
 protected:
  FetchedCodeTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    chmod(folder_.c_str(), 0711);
    std::filesystem::create_directories(jobs_dir());
    AddFile("data/words.txt", "a b c");
    AddFile("run.sh", "#!/bin/sh", true);
    tree_.push_back(upload::LinkEntry("vocab", "data/words.txt"));
    Open();
  }
  ~FetchedCodeTest() override {
    code_.reset();
    upload::ResetSyncs();
    std::filesystem::remove_all(folder_);
  }

  std::string jobs_dir() const { return folder_ + "/jobs"; }
  std::string code_of(const std::string& job) const { return jobs_dir() + "/" + job + "/code"; }

  void Open() {
    code_.reset();
    auto cache = upload::BlobFolder::Open(folder_ + "/uploads");
    EXPECT_OK(cache);
    code_ = std::make_unique<FetchedCode>(jobs_dir(), boot_, *std::move(cache),
                                          std::make_unique<FakeSource>(&blobs_), sync_pause_);
  }

  void AddFile(const std::string& path, const std::string& text, bool executable = false) {
    blobs_.blobs[HashOf(text)] = text;
    tree_.push_back({.path = path,
                     .executable = executable,
                     .size = static_cast<int64_t>(text.size()),
                     .sha256 = HashOf(text),
                     .link = ""});
  }

  CodeRequest Request(const std::string& job) {
    const std::string manifest = upload::ToManifest(tree_);
    blobs_.blobs[HashOf(manifest)] = manifest;
    return {.job = common::JobId(job), .tree = HashOf(manifest), .user = user_};
  }

  // Runs turns until there is an answer about the job.
  absl::StatusOr<std::string> Fetch(const std::string& job) {
    const CodeRequest request = Request(job);
    while (!code_->IsKnown(request.job)) {
      code_->Set({request});
      pollfd wake = {code_->wake_fd(), POLLIN, 0};
      EXPECT_EQ(poll(&wake, 1, 20'000), 1);
      code_->Update();
    }
    return code_->Find(request.job);
  }

  void RunAs(uid_t uid, gid_t gid) {
    user_ = process::Account{.name = "someone", .uid = uid, .gid = gid, .groups = {gid}};
  }

  std::string PathOf(const std::string& hash) const {
    return folder_ + "/uploads/" + hash.substr(0, 2) + "/" + hash;
  }
  // Changes a byte of this content in the cache.
  void Damage(const std::string& text) const {
    const std::string path = PathOf(HashOf(text));
    std::ofstream(path) << std::string(text.size(), '?');
    // The clock of a file system may be coarse, so the write alone may not change the file's time.
    std::filesystem::last_write_time(
        path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  }

  static std::string Text(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::string folder_ = "/tmp/fetched_code.XXXXXX";
  std::string boot_ = "this boot";
  absl::Duration sync_pause_ = absl::ZeroDuration();  // For the next Open().
  FakeBlobs blobs_;
  upload::Tree tree_;
  std::optional<process::Account> user_;
  std::unique_ptr<FetchedCode> code_;
};

}  // namespace accel::agent
