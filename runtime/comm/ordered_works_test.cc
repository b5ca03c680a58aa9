#include "runtime/comm/ordered_works.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/testing/error_of.h"

namespace accel::runtime {
namespace {

constexpr auto kType = c10d::OpType::ALLREDUCE;

// The thread on which a body has run, and what it was asked.
struct Ran {
  std::thread::id thread;
  bool may_wait;
};

TEST(OrderedWorksTest, ACallHereHasEndedWhenItReturns) {
  OrderedWorks works(0);
  std::vector<Ran> runs;
  const at::Tensor output = at::ones({2});
  const auto work = works.call(kType, {output}, CallStart::kHere, [&](bool may_wait) {
    runs.push_back({std::this_thread::get_id(), may_wait});
    return true;
  });
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].thread, std::this_thread::get_id());
  EXPECT_TRUE(runs[0].may_wait);
  EXPECT_TRUE(work->isCompleted());
  EXPECT_TRUE(work->result().at(0).is_same(output));
  EXPECT_TRUE(work->getFuture()->completed());
}

TEST(OrderedWorksTest, ACallWhosePeersDoNotComeContinuesOnTheThread) {
  OrderedWorks works(0);
  std::vector<Ran> runs;
  const auto work = works.call(kType, {}, CallStart::kHereIfPeersCome, [&](bool may_wait) {
    runs.push_back({std::this_thread::get_id(), may_wait});
    return may_wait;
  });
  work->wait();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].thread, std::this_thread::get_id());
  EXPECT_FALSE(runs[0].may_wait);
  EXPECT_NE(runs[1].thread, std::this_thread::get_id());
  EXPECT_TRUE(runs[1].may_wait);
}

TEST(OrderedWorksTest, ACallHereRunsOnTheThreadBehindAnEarlierOne) {
  OrderedWorks works(0);
  std::promise<void> let_go;
  std::vector<int> order;
  const auto first = works.call(kType, {}, CallStart::kOnThread, [&](bool) {
    let_go.get_future().wait();
    order.push_back(1);
    return true;
  });
  const auto second = works.call(kType, {}, CallStart::kHere, [&](bool) {
    order.push_back(2);
    return true;
  });
  EXPECT_FALSE(second->isCompleted());
  let_go.set_value();
  second->wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(OrderedWorksTest, AnErrorIsInTheWorkAndItsFutureAndTheNextCallRuns) {
  OrderedWorks works(0);
  for (const auto start : {CallStart::kHere, CallStart::kHereIfPeersCome, CallStart::kOnThread}) {
    const auto work =
        works.call(kType, {}, start, [](bool) -> bool { throw std::runtime_error("lost rank 1"); });
    EXPECT_EQ(error_of([&] { work->wait(); }), "lost rank 1");
    EXPECT_NE(error_of([&] { work->getFuture()->waitAndThrow(); }).find("lost rank 1"),
              std::string::npos);
  }
  EXPECT_TRUE(works.call(kType, {}, CallStart::kOnThread, [](bool) { return true; })->wait());
}

TEST(OrderedWorksTest, TheThreadHasTheAutogradModeOfTheCaller) {
  OrderedWorks works(0);
  std::vector<bool> records;
  const auto record = [&](bool) {
    records.push_back(at::GradMode::is_enabled());
    return true;
  };
  works.call(kType, {}, CallStart::kOnThread, record)->wait();
  {
    const at::NoGradGuard no_graph;
    works.call(kType, {}, CallStart::kOnThread, record)->wait();
  }
  EXPECT_EQ(records, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace accel::runtime
