#include "runtime/core/reached_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the parameters of a model that is written as one letter per parameter.
std::vector<ParameterId> ids(const std::string& model) {
  static const std::string letters = "abcdefghijklmnopqrstuvwxyz";
  std::vector<ParameterId> ids;
  for (const char letter : model) ids.push_back(&letters[letters.find(letter)]);
  return ids;
}

std::vector<std::vector<ParameterId>> ids(const std::vector<std::string>& models) {
  std::vector<std::vector<ParameterId>> all;
  for (const std::string& model : models) all.push_back(ids(model));
  return all;
}

std::vector<std::size_t> reached(const std::vector<std::string>& models, const std::string& loss) {
  const std::vector<ParameterId> behind = ids(loss);
  return reached_models(ids(models), {behind.begin(), behind.end()});
}

TEST(ReachedModelsTest, FindsModelsThatShareAParameter) {
  using Models = std::vector<std::string>;
  EXPECT_THAT(sharing_models({}), IsEmpty());
  EXPECT_THAT(sharing_models(ids(Models{"ab", "", "cd"})), ElementsAre(false, false, false));
  EXPECT_THAT(sharing_models(ids(Models{"ab", "c", "db"})), ElementsAre(true, false, true));
}

TEST(ReachedModelsTest, WithoutSharedParametersAnyParameterSelectsItsModel) {
  EXPECT_THAT(reached({}, "a"), IsEmpty());
  EXPECT_THAT(reached({"ab", "cd"}, ""), IsEmpty());
  EXPECT_THAT(reached({"ab", "cd"}, "x"), IsEmpty());
  EXPECT_THAT(reached({"ab", "cd"}, "bx"), ElementsAre(0));
  EXPECT_THAT(reached({"ab", "cd"}, "ad"), ElementsAre(0, 1));
  EXPECT_THAT(reached({"", "ab"}, "ab"), ElementsAre(1));
}

TEST(ReachedModelsTest, ASharedTrunkGoesToTheModelWhoseHeadIsReached) {
  EXPECT_THAT(reached({"tux", "tuy"}, "tux"), ElementsAre(0));
  EXPECT_THAT(reached({"tux", "tuy"}, "tuy"), ElementsAre(1));
  EXPECT_THAT(reached({"tux", "tuy"}, "tuxy"), ElementsAre(0, 1));
}

TEST(ReachedModelsTest, APreparedPartTakesOnlyItsOwnLosses) {
  EXPECT_THAT(reached({"tuh", "tu"}, "tuh"), ElementsAre(0));
  EXPECT_THAT(reached({"tuh", "tu"}, "tu"), ElementsAre(1));
  EXPECT_THAT(reached({"tuh", "tu", "h"}, "tuh"), ElementsAre(0));
  EXPECT_THAT(reached({"tu", "tu"}, "tu"), ElementsAre(0));
}

TEST(ReachedModelsTest, LeftOverParametersGoToTheModelReachedMostCompletely) {
  EXPECT_THAT(reached({"tux", "tuy"}, "t"), ElementsAre(0));
  EXPECT_THAT(reached({"tuvx", "ty", "uv"}, "tuvy"), ElementsAre(1, 2));
}

}  // namespace
}  // namespace accel::runtime
