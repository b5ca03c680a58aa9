#include "runtime/core/manifest.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "accel/errors.h"
#include "runtime/core/crc32c.h"

namespace accel::runtime {
namespace {

const Manifest kManifest{.iteration = 7,
                         .num_processes = 2,
                         .files = {{"model.safetensors", {.size = 1'000'000'000'000, .crc32c = 5}},
                                   {"optimizer.bin", {.size = 0, .crc32c = 0}}}};

TEST(Manifest, ReadsWhatWasWritten) {
  EXPECT_EQ(parse_manifest(manifest_text(kManifest), "m"), kManifest);
}

TEST(Manifest, TornAnywhereIsRefused) {
  const std::string text = manifest_text(kManifest);
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_THROW(parse_manifest(text.substr(0, size), "m"), DamageError) << size;
  }
}

TEST(Manifest, AnyChangedLetterOrDigitIsRefused) {
  const std::string text = manifest_text(kManifest);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!std::isalnum(static_cast<unsigned char>(text[i]))) continue;
    std::string changed = text;
    changed[i] = changed[i] == '1' ? '2' : '1';
    EXPECT_THROW(parse_manifest(changed, "m"), DamageError) << changed;
  }
}

TEST(Manifest, AnotherVersionIsNotDamage) {
  const std::string root = R"({"files":{},"iteration":0,"num_processes":1,"version":2)";
  const std::string checked = root + "}";
  const std::uint32_t checksum = extend_crc32c(0, checked.data(), checked.size());
  try {
    parse_manifest(root + ",\"crc32c\":" + std::to_string(checksum) + "}", "m");
    ADD_FAILURE() << "it was read";
  } catch (const DamageError& error) {
    ADD_FAILURE() << error.what();
  } catch (const CheckpointError& error) {
    EXPECT_NE(std::string(error.what()).find("format version 2"), std::string::npos)
        << error.what();
  }
}

// nlohmann's dump() and copies recurse, so deep nesting would overflow the stack.
TEST(Manifest, DeepNestingIsRefused) {
  const std::string deep = std::string(1 << 20, '[') + std::string(1 << 20, ']');
  EXPECT_THROW(parse_manifest("{\"crc32c\":" + deep + "}", "m"), DamageError);
  EXPECT_THROW(parse_manifest("{\"crc32c\":1,\"files\":" + deep + "}", "m"), DamageError);
}

TEST(Manifest, DamageIsTornOrCorrupt) {
  const FileFacts listed{.size = 7, .crc32c = 5};
  EXPECT_EQ(damage_of(listed, listed), std::nullopt);
  EXPECT_EQ(damage_of(listed, {.size = 3, .crc32c = 5}), "torn: it has 3 bytes of 7");
  EXPECT_EQ(damage_of(listed, {.size = 7, .crc32c = 6}), "corrupt: its checksum does not match");
}

TEST(Manifest, ListedNamesAreTheTopOfEachPathAndTheManifest) {
  EXPECT_EQ(listed_names({.files = {{"model.safetensors", {}}, {"logs/deep/loss.txt", {}}}}),
            (std::set<std::string>{"manifest.json", "model.safetensors", "logs"}));
}

// Returns the text with the checksum that it should have.
std::string checked(const std::string& root) {
  const std::uint32_t checksum = extend_crc32c(0, root.data(), root.size());
  return "{\"crc32c\":" + std::to_string(checksum) + "," + root.substr(1);
}

// The checksum shows that nothing is damaged, and not that accel wrote the text.
TEST(Manifest, ATextWithTheRightChecksumMayBeNoManifest) {
  EXPECT_EQ(
      parse_manifest(checked(R"({"files":{},"iteration":1,"num_processes":2,"version":1})"), "m")
          .iteration,
      1u);
  for (
      const char* root : {
          R"({"version":1})",
          R"({"files":{},"iteration":1,"num_processes":1e+300,"version":1})",
          R"({"files":{},"iteration":-1,"num_processes":1,"version":1})",
          R"({"files":{},"iteration":"x","num_processes":1,"version":1})",
          R"({"files":{"a":{"crc32c":1}},"iteration":1,"num_processes":1,"version":1})",
          R"({"files":{"a":7},"iteration":1,"num_processes":1,"version":1})",
          R"({"files":{"a":{"crc32c":4294967296,"size":1}},"iteration":1,"num_processes":1,"version":1})",
          R"({"files":[1],"iteration":1,"num_processes":1,"version":1})",
          R"({"files":{},"iteration":1,"num_processes":1,"version":"1"})",
      }) {
    EXPECT_THROW(parse_manifest(checked(root), "m"), CheckpointError) << root;
  }
}

TEST(Manifest, FilesOutsideTheFolderAreRefused) {
  for (const char* name : {"../x", "/etc/passwd", "..", ""}) {
    EXPECT_THROW(parse_manifest(manifest_text({.files = {{name, {}}}}), "m"), CheckpointError);
  }
}

}  // namespace
}  // namespace accel::runtime
