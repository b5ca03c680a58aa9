#include "weights/core/saved_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/checkpoint_error.h"

namespace accel::weights {
namespace {

using ::testing::HasSubstr;

std::string error_of(const auto& call) {
  try {
    call();
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "no error";
}

// A matrix whose element i has the bytes of the number i, saved by `parts` ranks that each hold an
// equal part of the flattened matrix.
struct Saved {
  Saved(const Shape& shape, std::uint64_t parts) {
    saved.files.assign(parts, "file");
    bytes.resize(parts);
    const std::uint64_t count = elements(whole(shape));
    const std::uint64_t length = (count + parts - 1) / parts;
    for (std::uint64_t part = 0; part < parts; ++part) {
      std::uint64_t at = std::min(part * length, count);
      const std::uint64_t end = std::min(at + length, count);
      for (const Box& box : boxes_of_range(shape, at, end)) {
        saved.add("m", SafetensorsDtype::kU8, shape,
                  {.box = box, .file = part, .begin = bytes[part].size()});
        for (std::uint64_t i = 0; i < elements(box); ++i) {
          bytes[part].push_back(static_cast<char>(at++));
        }
      }
    }
  }

  // Returns what the ranges give, and checks that no byte is written twice.
  std::string read(const std::vector<ByteRange>& ranges, std::uint64_t size) const {
    std::string out(size, '\xff');
    std::uint64_t total = 0;
    for (const ByteRange& range : ranges) {
      EXPECT_EQ(out.substr(range.to, range.length), std::string(range.length, '\xff')) << "twice";
      out.replace(range.to, range.length, bytes[range.file].substr(range.begin, range.length));
      total += range.length;
    }
    EXPECT_EQ(total, size);
    return out;
  }

  SavedTensors saved;
  std::vector<std::string> bytes;
};

TEST(SavedTensorsTest, EveryRangeIsReadFromAnyNumberOfRanks) {
  const Shape shape = {5, 3, 2};
  const std::uint64_t count = elements(whole(shape));
  for (const std::uint64_t parts : {1, 2, 3, 4, 7}) {
    const Saved saved(shape, parts);
    check_complete(saved.saved, "folder");
    const SavedTensor& tensor = saved.saved.tensors.at("m");
    for (std::uint64_t begin = 0; begin <= count; ++begin) {
      for (std::uint64_t end = begin; end <= count; ++end) {
        std::string expected;
        for (std::uint64_t i = begin; i < end; ++i) expected.push_back(static_cast<char>(i));
        std::string read;
        for (const Box& box : boxes_of_range(shape, begin, end)) {
          const std::vector<ByteRange> ranges = reads_for(tensor, box);
          read += saved.read(ranges, elements(box));
          // One read for each file, because pieces of a rank are neighbours.
          ASSERT_LE(ranges.size(), parts);
        }
        ASSERT_EQ(read, expected);
      }
    }
  }
}

TEST(SavedTensorsTest, ColumnsAreReadFromRows) {
  const Saved saved({4, 6}, 3);
  const Box columns = {.offsets = {0, 2}, .sizes = {4, 2}};
  EXPECT_EQ(saved.read(reads_for(saved.saved.tensors.at("m"), columns), 8),
            std::string("\x02\x03\x08\x09\x0e\x0f\x14\x15"));
}

TEST(SavedTensorsTest, AMissingPartIsFound) {
  Saved saved({4, 6}, 3);
  saved.saved.tensors.at("m").pieces.pop_back();
  EXPECT_THAT(error_of([&] { check_complete(saved.saved, "folder"); }),
              HasSubstr("folder: tensor m has no element"));
}

TEST(SavedTensorsTest, AReplicaCountsOnceAndAnotherShapeIsRefused) {
  SavedTensors saved{.files = {"a", "b"}, .tensors = {}};
  saved.add("m", SafetensorsDtype::kF32, {2}, {.box = whole({2}), .file = 0});
  saved.add("m", SafetensorsDtype::kF32, {2}, {.box = whole({2}), .file = 1});
  EXPECT_EQ(saved.tensors.at("m").pieces.size(), 1u);
  EXPECT_THAT(error_of([&] {
                saved.add("m", SafetensorsDtype::kF32, {3}, {.box = whole({3}), .file = 1});
              }),
              HasSubstr("b: tensor m is F32[3], and F32[2] in another file"));
}

}  // namespace
}  // namespace accel::weights
