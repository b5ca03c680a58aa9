// A client with a valid certificate that opens streams and resets them at once (rapid reset).

#include "coordinator/raw_http2_fixture.h"

namespace accel::coordinator {
namespace {

using RapidResetTest = RawHttp2Test;

TEST_F(RapidResetTest, TheConnectionIsCutAndOthersAreServed) {
  bool open = true;
  for (uint32_t stream = 3; open && stream < 20'000'000; stream += 200) {
    std::string burst;
    for (uint32_t i = stream; i < stream + 200; i += 2) {
      absl::StrAppend(&burst, Frame(kHeaders, kEndHeaders, i, RequestHeaders()),
                      Frame(kResetStream, 0, i, std::string("\0\0\0\x08", 4)));
    }
    open = Send(burst) && Drain();
  }
  EXPECT_FALSE(open);
  EXPECT_OK(Submit("served"));
}

}  // namespace
}  // namespace accel::coordinator
