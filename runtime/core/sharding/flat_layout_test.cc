#include "runtime/core/sharding/flat_layout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace accel::runtime {
namespace {

using Sizes = std::vector<std::int64_t>;

// Calls `body` for all lists of up to three tensors, with sizes on both sides of the alignment, and
// numbers of parts up to 5.
template <typename Body>
void for_each_layout(const Body& body) {
  const Sizes sizes{0, 1, 15, 16, 17, 33, 100};
  std::vector<Sizes> lists{{}};
  for (std::size_t begin = 0, length = 0; length < 3; ++length) {
    const std::size_t end = lists.size();
    for (; begin < end; ++begin) {
      for (const std::int64_t size : sizes) {
        Sizes longer = lists[begin];
        longer.push_back(size);
        lists.push_back(longer);
      }
    }
  }
  for (const Sizes& list : lists) {
    for (int parts = 1; parts <= 5; ++parts) body(list, FlatLayout(list, parts));
  }
}

TEST(FlatLayoutTest, PlacesAreAlignedAndGapsAreTheRest) {
  for_each_layout([](const Sizes& sizes, const FlatLayout& layout) {
    ASSERT_EQ(layout.size(), layout.parts() * layout.part_size());
    EXPECT_EQ(layout.part_size() % FlatLayout::kAlignment, 0);
    std::vector<int> owners(static_cast<std::size_t>(layout.size()));
    const auto mark = [&](const ElementRange& range) {
      for (std::int64_t i = range.begin; i < range.end; ++i) ++owners.at(static_cast<size_t>(i));
    };
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_EQ(layout.place(i).size(), sizes[i]);
      EXPECT_EQ(layout.place(i).begin % FlatLayout::kAlignment, 0);
      mark(layout.place(i));
    }
    for (const ElementRange& gap : layout.gaps()) mark(gap);
    EXPECT_EQ(owners, std::vector<int>(owners.size(), 1));
  });
}

TEST(FlatLayoutTest, PaddingIsLessThanOneLinePerTensorAndPart) {
  for_each_layout([](const Sizes& sizes, const FlatLayout& layout) {
    const auto elements = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    const auto pieces = static_cast<std::int64_t>(sizes.size()) + layout.parts();
    EXPECT_LE(layout.size(), elements + pieces * FlatLayout::kAlignment);
  });
}

TEST(FlatLayoutTest, PiecesCoverEachTensorInOrderAndLieWhereTheBufferHasThem) {
  for_each_layout([](const Sizes& sizes, const FlatLayout& layout) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::int64_t next = 0;
      for (int part = 0; part < layout.parts(); ++part) {
        const ElementRange piece = layout.piece(i, part);
        ASSERT_LE(piece.begin, piece.end);
        const std::int64_t offset = layout.piece_offset(i, part);
        ASSERT_GE(offset, 0);
        ASSERT_LE(offset + piece.size(), layout.part_size());
        if (piece.size() == 0) continue;
        EXPECT_EQ(piece.begin, next);
        EXPECT_EQ(part * layout.part_size() + offset, layout.place(i).begin + piece.begin);
        next = piece.end;
      }
      EXPECT_EQ(next, sizes[i]);
    }
  });
}

TEST(FlatLayoutTest, RejectsImpossibleSizes) {
  EXPECT_THROW(FlatLayout({1}, 0), std::invalid_argument);
  EXPECT_THROW(FlatLayout({-1}, 1), std::invalid_argument);
  EXPECT_THROW(FlatLayout({std::int64_t{1} << 62}, 1), std::invalid_argument);
}

}  // namespace
}  // namespace accel::runtime
