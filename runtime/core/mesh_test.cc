#include "runtime/core/mesh.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace accel::runtime {
namespace {

TEST(MeshTest, EachProcessTrainsOnSamplesOfItsOwn) {
  const Mesh mesh = make_mesh(8, 4, 6);
  EXPECT_EQ(mesh.replicate, 2);
  EXPECT_EQ(mesh.data_parallel_size(), 8);
  EXPECT_EQ(mesh.data_parallel_rank(), 6);
}

TEST(MeshTest, RowsOfDifferentLengthsAreRefused) {
  EXPECT_THROW(make_mesh(6, 4, 0), std::invalid_argument);
  EXPECT_THROW(make_mesh(4, 0, 0), std::invalid_argument);
  EXPECT_THROW(make_mesh(4, 8, 0), std::invalid_argument);
}

}  // namespace
}  // namespace accel::runtime
