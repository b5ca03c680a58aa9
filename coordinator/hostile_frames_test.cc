// Frames that a client with a valid certificate may send and no gRPC client does. Whatever becomes
// of its connection, others are served, and the memory of the coordinator is bounded.

#include <fstream>

#include "coordinator/raw_http2_fixture.h"

namespace accel::coordinator {
namespace {

constexpr int64_t kMostBytes = 100 << 20;
constexpr int kFullMilliseconds = 200;  // A connection that takes nothing for so long is full.

class HostileFramesTest : public RawHttp2Test {
 protected:
  // Sends the bytes again and again, and reads what comes back. Ends when the server closes the
  // connection.
  void Flood(const std::string& bytes, int times) {
    for (int i = 0; i < times; ++i) {
      if (!Send(bytes) || !Drain()) return;
    }
  }

  // Does the same and reads nothing, until the connection is full.
  void FloodUnread(const std::string& bytes, int times) {
    for (int i = 0; i < times; ++i) {
      while (SSL_write(tls_stream_.get(), bytes.data(), static_cast<int>(bytes.size())) <= 0) {
        if (SSL_get_error(tls_stream_.get(), 0) != SSL_ERROR_WANT_WRITE) return;
        pollfd room{.fd = fd_.get(), .events = POLLOUT, .revents = 0};
        if (poll(&room, 1, kFullMilliseconds) == 0 || (room.revents & POLLOUT) == 0) return;
      }
    }
  }

  void ExpectServed() {
    EXPECT_OK(Submit("served"));
    EXPECT_LT(Resident() - before_, kMostBytes);
  }

 private:
  // The memory of this process, which is the server too.
  static int64_t Resident() {
    int64_t pages = 0;
    std::ifstream statm("/proc/self/statm");
    statm >> pages >> pages;
    return pages * sysconf(_SC_PAGESIZE);
  }

  const int64_t before_ = Resident();
};

TEST_F(HostileFramesTest, OldVersionsOfTlsAreRefused) {
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION}) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
        SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    // OpenSSL itself takes the old ones only at the lowest level.
    SSL_CTX_set_cipher_list(context.get(), "ALL:@SECLEVEL=0");
    SSL_CTX_set_min_proto_version(context.get(), version);
    SSL_CTX_set_max_proto_version(context.get(), version);
    SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>("\x02h2"), 3);
    const common::UniqueFd fd = Connect();
    EXPECT_EQ(Handshake(context.get(), fd.get()) != nullptr, version == TLS1_2_VERSION) << version;
  }
  ExpectServed();
}

TEST_F(HostileFramesTest, HeadersOfOtherProgramsAndLargeOnes) {
  uint32_t stream = 3;
  for (const std::string& header :
       {Literal("grpclb_client_stats", "x"), Literal("te", "x"), Literal("grpc-timeout", "x"),
        Literal("grpc-encoding", "x"), Literal("content-type", "x"), Literal(":status", "200"),
        Literal("x", std::string(16'000, 'v')), Literal(std::string(16'000, 'n'), "")}) {
    Flood(Call(stream, RequestHeaders() + header), 1);
    stream += 2;
  }
  ExpectServed();
}

TEST_F(HostileFramesTest, AHeaderOfEighteenKilobytesInTwoFrames) {
  const std::string headers = RequestHeaders() + Literal("x", std::string(18'000, 'v'));
  Flood(absl::StrCat(Frame(kHeaders, 0, 3, headers.substr(0, 10'000)),
                     Frame(kContinuation, kEndHeaders, 3, headers.substr(10'000)),
                     Frame(kData, kEndStream, 3, std::string(5, '\0'))),
        1);
  ExpectServed();
}

TEST_F(HostileFramesTest, AHeaderThatPretendsToHaveFourGigabytes) {
  Flood(Frame(kHeaders, kEndHeaders, 3,
              absl::StrCat("\x83", std::string(1, '\0'), HpackLength(1), "x",
                           HpackLength(uint64_t{4} << 30), "v")),
        1);
  ExpectServed();
}

TEST_F(HostileFramesTest, HeadersOfZeros) {
  Flood(Frame(kHeaders, kEndHeaders, 3, std::string(16'000, '\0')), 1);
  ExpectServed();
}

TEST_F(HostileFramesTest, HeadersWithoutAnEnd) {
  Flood(Frame(kHeaders, 0, 3, RequestHeaders()), 1);
  std::string burst;
  for (int i = 0; i < 1'000; ++i) burst += Frame(kContinuation, 0, 3, Literal("a", "b"));
  Flood(burst, 200);
  ExpectServed();
}

TEST_F(HostileFramesTest, FloodsOfPingsAndSettings) {
  std::string pings;
  std::string settings;
  for (int i = 0; i < 1'000; ++i) {
    pings += Frame(kPing, 0, 0, std::string(8, 'p'));
    settings += Frame(kSettings, 0, 0, "");
  }
  Flood(pings, 100);
  Flood(settings, 100);
  ExpectServed();
}

TEST_F(HostileFramesTest, FloodsWhoseAnswersNobodyReads) {
  std::string frames;
  for (int i = 0; i < 1'000; ++i) {
    frames += Frame(kPing, 0, 0, std::string(8, 'p')) + Frame(kSettings, 0, 0, "");
  }
  FloodUnread(frames, 1'000);
  ExpectServed();
}

}  // namespace
}  // namespace accel::coordinator
