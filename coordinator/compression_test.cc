// A message may be a thousand times as large as its compressed form, and gRPC bounds only the
// latter.

#include <string>

#include "coordinator/service_fixture.h"

namespace accel::coordinator {
namespace {

class CompressionTest : public ServiceTest {
 protected:
  // Submits a job with a variable of so many bytes, compressed.
  absl::Status SubmitCompressed(grpc_compression_algorithm algorithm, size_t bytes) {
    v1::SubmitJobRequest request;
    request.set_submit_id("compressed");
    request.mutable_spec()->add_argv("train");
    request.mutable_spec()->set_nodes(1);
    v1::EnvVar* const variable = request.mutable_spec()->add_env();
    variable->set_name("A");
    variable->set_value(std::string(bytes, 'a'));
    v1::SubmitJobResponse response;
    const auto context = Call();
    context->set_compression_algorithm(algorithm);
    return common::FromGrpc(stub_->SubmitJob(context.get(), request, &response));
  }
};

TEST_F(CompressionTest, CompressedMessagesAreRefusedWhateverTheirSize) {
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    for (const size_t bytes : {size_t{1} << 10, size_t{64} << 20}) {
      const absl::Status refused = SubmitCompressed(algorithm, bytes);
      EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented) << refused;
    }
  }
  EXPECT_OK(Submit("not compressed"));
}

}  // namespace
}  // namespace accel::coordinator
