#include "agent/code/verified_blobs.h"

#include <gtest/gtest.h>

#include <string>

namespace accel::agent {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'000'000);
constexpr upload::BlobStamp kStamp = {
    .device = 1, .inode = 2, .size = 3, .modified_ns = 4, .changed_ns = 5};

TEST(VerifiedBlobsTest, AnyChangeOfTheFileEndsTheTrust) {
  VerifiedBlobs blobs;
  EXPECT_FALSE(blobs.Has("a", kStamp, kNow));
  blobs.Note("a", kStamp, kNow);
  EXPECT_TRUE(blobs.Has("a", kStamp, kNow));
  EXPECT_FALSE(blobs.Has("b", kStamp, kNow));
  for (auto member : {&upload::BlobStamp::modified_ns, &upload::BlobStamp::changed_ns,
                      &upload::BlobStamp::size}) {
    upload::BlobStamp other = kStamp;
    ++(other.*member);
    EXPECT_FALSE(blobs.Has("a", other, kNow));
  }
  upload::BlobStamp other = kStamp;
  ++other.inode;
  EXPECT_FALSE(blobs.Has("a", other, kNow));
  other = kStamp;
  ++other.device;
  EXPECT_FALSE(blobs.Has("a", other, kNow));
  blobs.Forget("a");
  EXPECT_FALSE(blobs.Has("a", kStamp, kNow));
}

TEST(VerifiedBlobsTest, TheTrustLastsADay) {
  VerifiedBlobs blobs;
  blobs.Note("a", kStamp, kNow);
  EXPECT_TRUE(blobs.Has("a", kStamp, kNow + absl::Hours(23)));
  EXPECT_FALSE(blobs.Has("a", kStamp, kNow + absl::Hours(24)));
  EXPECT_FALSE(blobs.Has("a", kStamp, kNow - absl::Seconds(1))) << "the clock was set back";
}

TEST(VerifiedBlobsTest, OnlyTheOwnChangeOfTheTimesKeepsTheTrust) {
  VerifiedBlobs blobs;
  upload::BlobStamp touched = kStamp;
  touched.modified_ns = touched.changed_ns = 9;
  blobs.Restamp("a", kStamp, touched);
  EXPECT_FALSE(blobs.Has("a", touched, kNow)) << "it was never compared";
  blobs.Note("a", kStamp, kNow);
  blobs.Restamp("a", kStamp, touched);
  EXPECT_TRUE(blobs.Has("a", touched, kNow));
  upload::BlobStamp foreign = kStamp;
  foreign.modified_ns = 10;
  upload::BlobStamp after = kStamp;
  after.modified_ns = 11;
  blobs.Restamp("a", foreign, after);
  EXPECT_FALSE(blobs.Has("a", after, kNow)) << "something else has changed it before";
}

TEST(VerifiedBlobsTest, TheNumberIsBounded) {
  VerifiedBlobs blobs;
  for (size_t i = 0; i < VerifiedBlobs::kMaxBlobs; ++i) blobs.Note(std::to_string(i), kStamp, kNow);
  blobs.Note("0", kStamp, kNow);
  EXPECT_TRUE(blobs.Has("1", kStamp, kNow)) << "it was noted again, and is no further one";
  blobs.Note("a", kStamp, kNow);
  EXPECT_TRUE(blobs.Has("a", kStamp, kNow));
  EXPECT_FALSE(blobs.Has("1", kStamp, kNow));
}

}  // namespace
}  // namespace accel::agent
