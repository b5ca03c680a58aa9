// A fixture for tests that call every method of the coordinator's services by its name.
#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "coordinator/service_fixture.h"

namespace accel::coordinator {

class AnyMethodTest : public ServiceTest {
 protected:
  using ServiceTest::ServiceTest;

  // Calls the method with this name, such as "Coordinator/ListJobs", with `bytes` as the request.
  // Returns the status of the call.
  absl::Status CallByName(const std::string& method, const std::string& authorization,
                          const std::string& bytes) {
    grpc::GenericStub generic(channel_);
    const auto context = Call(authorization);
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    grpc::Status status;
    absl::Notification done;
    generic.UnaryCall(context.get(), "/accel.v1." + method, grpc::StubOptions(), &request,
                      &response, [&status, &done](grpc::Status ended) {
                        status = std::move(ended);
                        done.Notify();
                      });
    done.WaitForNotification();
    return common::FromGrpc(status);
  }

  static std::vector<std::string> Methods() {
    std::vector<std::string> names;
    const auto* file = v1::SubmitJobRequest::descriptor()->file();
    for (int i = 0; i < file->service_count(); ++i) {
      const auto* service = file->service(i);
      for (int j = 0; j < service->method_count(); ++j) {
        names.push_back(service->name() + "/" + service->method(j)->name());
      }
    }
    return names;
  }
};

}  // namespace accel::coordinator
