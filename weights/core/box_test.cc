#include "weights/core/box.h"

#include <gtest/gtest.h>

#include <numeric>

namespace accel::weights {
namespace {

// Returns the positions in a tensor of the elements of a box, in row-major order.
std::vector<std::uint64_t> positions(const Box& box, const Shape& shape) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < elements(box); ++i) {
    std::uint64_t rest = i, at = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      at += (rest % static_cast<std::uint64_t>(box.sizes[d]) +
             static_cast<std::uint64_t>(box.offsets[d])) *
            stride;
      rest /= static_cast<std::uint64_t>(box.sizes[d]);
      stride *= static_cast<std::uint64_t>(shape[d]);
    }
    out.push_back(at);
  }
  return out;
}

std::vector<Box> all_boxes(const Shape& shape) {
  std::vector<Box> boxes = {{}};
  for (const std::int64_t size : shape) {
    std::vector<Box> longer;
    for (const Box& box : boxes) {
      for (std::int64_t begin = 0; begin < size; ++begin) {
        for (std::int64_t length = 1; length <= size - begin; ++length) {
          Box next = box;
          next.offsets.push_back(begin);
          next.sizes.push_back(length);
          longer.push_back(next);
        }
      }
    }
    boxes = longer;
  }
  return boxes;
}

TEST(BoxTest, RunsMoveEachCommonElementOnce) {
  const Shape shape = {3, 2, 3};
  const std::vector<Box> boxes = all_boxes(shape);
  for (const Box& from : boxes) {
    const auto source = positions(from, shape);
    for (const Box& to : boxes) {
      const auto target = positions(to, shape);
      std::vector<std::uint64_t> moved(target.size(), UINT64_MAX);
      std::uint64_t count = 0;
      if (const auto both = intersection(from, to)) {
        for (const weights::Run& run : runs(*both, from, to)) {
          for (std::uint64_t i = 0; i < run.length; ++i, ++count) {
            ASSERT_EQ(moved.at(run.to + i), UINT64_MAX) << "twice";
            moved[run.to + i] = source.at(run.from + i);
            ASSERT_EQ(moved[run.to + i], target[run.to + i]);
          }
        }
        ASSERT_EQ(count, elements(*both));
      }
    }
  }
}

TEST(BoxTest, WholeRowsAreOneRun) {
  const Box all = whole({4, 5}), rows = {.offsets = {1, 0}, .sizes = {2, 5}};
  EXPECT_EQ(runs(rows, all, rows), (std::vector<weights::Run>{{.from = 5, .to = 0, .length = 10}}));
  EXPECT_EQ(runs(whole({}), whole({}), whole({})), (std::vector<weights::Run>{{.length = 1}}));
}

TEST(BoxTest, BoxesOfARangeAreItsElementsInOrder) {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 4}, Shape{2, 3, 2}, Shape{2, 1, 3, 2}}) {
    const std::uint64_t count = elements(whole(shape));
    for (std::uint64_t begin = 0; begin <= count; ++begin) {
      for (std::uint64_t end = begin; end <= count; ++end) {
        std::vector<std::uint64_t> expected(end - begin), found;
        std::iota(expected.begin(), expected.end(), begin);
        const std::vector<Box> boxes = boxes_of_range(shape, begin, end);
        for (const Box& box : boxes) {
          for (const std::uint64_t at : positions(box, shape)) found.push_back(at);
        }
        ASSERT_EQ(found, expected) << text_of(shape) << begin << " " << end;
        if (shape.size() == 2) {
          ASSERT_LE(boxes.size(), 3u);
        }
      }
    }
  }
}

TEST(BoxTest, ACoverHasEachElementOnce) {
  const Box top = {.offsets = {0, 0}, .sizes = {2, 3}},
            bottom = {.offsets = {2, 0}, .sizes = {1, 3}};
  const Box empty = {.offsets = {3, 0}, .sizes = {0, 3}},
            late = {.offsets = {1, 0}, .sizes = {2, 3}};
  EXPECT_EQ(fault_of_cover({3, 3}, {bottom, empty, top}), std::nullopt);
  EXPECT_EQ(fault_of_cover({3, 3}, {top}), "has no element [2, 0]");
  EXPECT_EQ(fault_of_cover({3, 3}, {bottom}), "has no element [0, 0]");
  EXPECT_EQ(fault_of_cover({3, 3}, {top, late}), "has element [1, 0] twice");
  EXPECT_EQ(fault_of_cover({3, 3}, {top, bottom, bottom}), "has element [2, 0] twice");
  const Box left = {.offsets = {0, 0}, .sizes = {2, 2}},
            right = {.offsets = {0, 2}, .sizes = {2, 2}},
            low = {.offsets = {1, 2}, .sizes = {1, 2}};
  EXPECT_EQ(fault_of_cover({2, 4}, {left}), "has no element [0, 2]");
  EXPECT_EQ(fault_of_cover({2, 4}, {right}), "has no element [0, 0]");
  EXPECT_EQ(fault_of_cover({2, 4}, {left, low}), "has no element [0, 2]");
  EXPECT_EQ(fault_of_cover({3, 4}, {left, right}), "has no element [2, 0]");
  EXPECT_EQ(fault_of_cover({}, {whole({})}), std::nullopt);
  EXPECT_EQ(fault_of_cover({}, {}), "has no element []");
  EXPECT_EQ(fault_of_cover({0, 4}, {}), std::nullopt);
}

TEST(BoxTest, ABoxThatFitsLiesInTheTensor) {
  EXPECT_TRUE(fits({.offsets = {1, 0}, .sizes = {2, 3}}, {3, 3}, 4));
  EXPECT_FALSE(fits({.offsets = {2, 0}, .sizes = {2, 3}}, {3, 3}, 4));
  EXPECT_FALSE(fits({.offsets = {-1, 0}, .sizes = {1, 3}}, {3, 3}, 4));
  EXPECT_FALSE(fits({.offsets = {0}, .sizes = {3}}, {3, 3}, 4));
  EXPECT_FALSE(fits({.offsets = {INT64_MAX, 0}, .sizes = {INT64_MAX, 1}}, {INT64_MAX, 1}, 1));
  const Shape huge = {1LL << 40, 1LL << 40, 0};
  EXPECT_FALSE(fits(whole(huge), huge, 4));
}

}  // namespace
}  // namespace accel::weights
