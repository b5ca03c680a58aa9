#include "examples/bible_text.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace examples {
namespace {

constexpr char kInstalled[] = "/usr/lib/bible.data";

std::string write(const std::string& bytes) {
  const auto path = std::filesystem::path(testing::TempDir()) / "bible_text";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// The expected size and checksum are those of gzip(1)'s output for the windows. gzip can
// read compress(1)'s format.
TEST(BibleTextTest, IsWhatGzipReads) {
  const std::string text = read_bible(kInstalled);
  EXPECT_EQ(text.size(), 4404475u);
  EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())),
            4206344403u);
  EXPECT_NE(text.find("\nGe1:1 In the beginning God created the heaven and the earth.\n"),
            std::string::npos);
  EXPECT_TRUE(text.ends_with("The grace of our Lord Jesus Christ be with you all. Amen.\n"));
}

TEST(BibleTextTest, OtherFilesAreTakenAsTheyAre) {
  EXPECT_EQ(read_bible(write("plain text\n")), "plain text\n");
  EXPECT_THROW(read_bible("/no/such/file"), std::runtime_error);
}

TEST(BibleTextTest, DamagedFilesAreRefusedOrShort) {
  std::ifstream file(kInstalled, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  for (const std::size_t size : {30u, 90u, 200u, 400u, 100'000u}) {
    EXPECT_THROW(read_bible(write(whole.substr(0, size))), std::runtime_error) << size;
  }
  // Flipped bytes give wrong text or an error, but no crash.
  for (std::size_t at = 0x54; at < 4000; at += 7) {
    std::string flipped = whole.substr(0, 30'000);
    flipped[0x5b] = 1;  // There is one window.
    flipped[at] = static_cast<char>(flipped[at] ^ 0x55);
    try {
      EXPECT_LE(read_bible(write(flipped)).size(), 1u << 26);
    } catch (const std::runtime_error&) {
    }
  }
}

}  // namespace
}  // namespace examples
