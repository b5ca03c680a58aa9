#include "runtime/parallel/unit_layout.h"

#include <c10/core/ScalarTypeToTypeMeta.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

torch::Tensor parameter(std::int64_t elements, at::ScalarType dtype, bool is_trained) {
  return torch::zeros({elements}, torch::TensorOptions(dtype).requires_grad(is_trained));
}

UnitLayout layout_of(std::vector<torch::Tensor> tensors, int parts = 1, int part = 0) {
  std::vector<UnitParameter> parameters;
  for (torch::Tensor& one : tensors) parameters.push_back({.name = "", .tensor = std::move(one)});
  return {std::move(parameters), parts, part};
}

TEST(UnitLayoutTest, EachDtypeHasABufferAndFrozenParametersASeparateOne) {
  const UnitLayout layout =
      layout_of({parameter(3, at::kFloat, true), parameter(3, at::kFloat, false),
                 parameter(3, at::kBFloat16, true), parameter(5, at::kFloat, true)});
  ASSERT_EQ(layout.buffers(), 3u);
  EXPECT_EQ(layout.buffer_of(0), layout.buffer_of(3));
  EXPECT_NE(layout.buffer_of(0), layout.buffer_of(1));
  EXPECT_NE(layout.buffer_of(0), layout.buffer_of(2));
  EXPECT_EQ(layout.flat(layout.buffer_of(0)).tensors(), 2u);
  EXPECT_EQ(c10::typeMetaToScalarType(layout.options(layout.buffer_of(2)).dtype()), at::kBFloat16);
  EXPECT_FALSE(layout.options(layout.buffer_of(0)).requires_grad());
}

TEST(UnitLayoutTest, ABufferIsTrainedWhileAParameterOfItIs) {
  const torch::Tensor one = parameter(3, at::kFloat, true), other = parameter(3, at::kFloat, true);
  const UnitLayout layout = layout_of({one, other, parameter(3, at::kFloat, false)});
  EXPECT_TRUE(layout.is_trained(layout.buffer_of(0)));
  EXPECT_FALSE(layout.is_trained(layout.buffer_of(2)));
  one.requires_grad_(false);
  EXPECT_TRUE(layout.is_trained(layout.buffer_of(0)));
  other.requires_grad_(false);
  EXPECT_FALSE(layout.is_trained(layout.buffer_of(0)));
}

TEST(UnitLayoutTest, ThePiecesOfAllPartsAreTheWholeParameter) {
  const std::vector<torch::Tensor> tensors = {parameter(20, at::kFloat, true),
                                              parameter(3, at::kFloat, true)};
  const std::int64_t size = layout_of(tensors, 2).flat(0).size();
  const torch::Tensor buffer = torch::arange(size, at::kFloat);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<torch::Tensor> pieces;
    for (int part = 0; part < 2; ++part) {
      const UnitLayout layout = layout_of(tensors, 2, part);
      pieces.push_back(layout.piece_in(buffer.chunk(2)[part], i));
      EXPECT_EQ(layout.held(i), layout_of(tensors, 2).held(i, part));
      EXPECT_EQ(layout.held(i).size(), pieces.back().numel());
    }
    EXPECT_TRUE(torch::equal(torch::cat(pieces), layout_of(tensors, 2).whole_in(buffer, i)));
  }
}

}  // namespace
}  // namespace accel::runtime
