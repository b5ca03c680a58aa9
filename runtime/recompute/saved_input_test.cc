// What checkpointed calls keep of their arguments, on a fake device.
#include "runtime/recompute/saved_input.h"

#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "runtime/recompute/recomputed_call.h"
#include "runtime/testing/fake_device.h"

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kCopyBack = "copy of pinned memory in the current stream";

class SavedInputTest : public ::testing::Test {
 protected:
  SavedInputTest() { use_fake_device(); }
  // Returns rows of four numbers that count from 0, which a graph has computed.
  static at::Tensor on_device(std::int64_t rows) {
    const at::Tensor start = at::arange(4 * rows, at::kFloat).view({rows, 4}).to(kFakeDevice);
    return start.requires_grad_() * 1;
  }
};

TEST_F(SavedInputTest, ACopyLeavesTheDevice) {
  const InputsOnHost wish;
  at::Tensor input = on_device(3);
  const auto memory = input.storage().getWeakStorageImpl();
  fake_notes().clear();
  const SavedInput saved(input);
  EXPECT_THAT(fake_notes(), ElementsAre("record in the current stream"));
  input = at::Tensor();
  EXPECT_TRUE(memory.expired());
  fake_notes().clear();
  const at::Tensor again = saved.unpack();
  EXPECT_THAT(fake_notes(), ElementsAre("wait in the current stream", kCopyBack));
  EXPECT_EQ(again.device(), kFakeDevice);
  EXPECT_TRUE(again.cpu().equal(on_device(3).cpu()));
  EXPECT_TRUE(saved.unpack().cpu().equal(again.cpu()));  // As with retain_graph.
}

TEST_F(SavedInputTest, WithoutTheWishTheTensorIsKept) {
  { const InputsOnHost wish; }
  const at::Tensor input = on_device(3);
  fake_notes().clear();
  const SavedInput saved(input);
  EXPECT_TRUE(saved.unpack().is_alias_of(input));
  EXPECT_THAT(fake_notes(), IsEmpty());
}

TEST_F(SavedInputTest, StridesAndTypesReturn) {
  const InputsOnHost wish;
  const at::Tensor whole = on_device(6);
  for (const at::Tensor& input :
       {whole.t(), whole.slice(1, 1, 3), whole.to(at::kDouble), whole.slice(0, 0, 0),
        whole.slice(0, 2, 3).squeeze(0), whole.t().slice(1, 1, 4)}) {
    const at::Tensor again = SavedInput(input).unpack();
    EXPECT_EQ(again.strides(), input.strides());
    EXPECT_EQ(again.scalar_type(), input.scalar_type());
    EXPECT_TRUE(again.requires_grad());
    EXPECT_FALSE(again.is_alias_of(input));
    EXPECT_TRUE(again.cpu().equal(input.cpu()));
  }
}

TEST_F(SavedInputTest, LeavesExpandedTensorsAndTheHostsTensorsAreKept) {
  const InputsOnHost wish;
  const at::Tensor host = at::arange(4, at::kFloat).requires_grad_() * 2;
  const at::Tensor mask = on_device(2).detach(), words = on_device(2).to(at::kLong);
  const at::Tensor parameter = on_device(2).detach().requires_grad_();
  const at::Tensor expanded = on_device(1).expand({5, 4});
  for (const at::Tensor& input : {host, mask, words, parameter, expanded}) {
    EXPECT_TRUE(SavedInput(input).unpack().is_alias_of(input));
  }
  EXPECT_FALSE(SavedInput(at::Tensor()).unpack().defined());
}

TEST_F(SavedInputTest, ALaterChangeInPlaceDoesNotReachACopy) {
  const InputsOnHost wish;
  const at::Tensor input = on_device(3);
  const SavedInput saved(input);
  input.slice(0, 1).add_(1);
  EXPECT_TRUE(saved.unpack().cpu().equal(on_device(3).cpu()));
}

TEST_F(SavedInputTest, CallsGiveTheSameGradientsAndKeepNothingOnTheDevice) {
  const auto gradients = [](bool on_host) {
    std::optional<InputsOnHost> wish;
    if (on_host) wish.emplace();
    const at::Tensor weight = on_device(4).detach().requires_grad_();
    const at::Tensor start = on_device(4).detach().requires_grad_();
    at::Tensor h = start * 0.5;
    const auto memory = h.storage().getWeakStorageImpl();
    for (int i = 0; i < 2; ++i) {
      h = call_and_recompute(
              [&](const std::vector<at::Tensor>& x) {
                return std::vector<at::Tensor>{(x[0] * weight).tanh()};
              },
              {std::exchange(h, at::Tensor())})
              .front();
    }
    EXPECT_EQ(memory.expired(), on_host);
    h.sum().backward();
    return std::pair(weight.grad().cpu(), start.grad().cpu());
  };
  const auto kept = gradients(false), copied = gradients(true);
  EXPECT_TRUE(copied.first.equal(kept.first));
  EXPECT_TRUE(copied.second.equal(kept.second));
  EXPECT_GT(kept.second.abs().sum().item<float>(), 0);
}

}  // namespace
}  // namespace accel::runtime
