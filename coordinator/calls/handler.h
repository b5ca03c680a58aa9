// What serves the calls of a method, and the handlers of all methods by their names.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "coordinator/calls/server_call.h"

namespace accel::coordinator {

// Serves one call, on the thread of its queue, as soon as its headers are there. Must not block for
// long.
using Handler = std::function<void(ServerCall*)>;

// The handlers by the path of the method, such as "/accel.v1.Coordinator/ListJobs".
using Handlers = absl::flat_hash_map<std::string, Handler>;

// Adds the handlers of one service, which are members of `service`, to *handlers. `name` is the
// full name of the service, such as "accel.v1.Coordinator".
template <typename Service>
class HandlerAdder {
 public:
  HandlerAdder(Service* service, absl::string_view name, Handlers* handlers)
      : service_(*service), name_(name), handlers_(*handlers) {}

  HandlerAdder& Add(absl::string_view method, void (Service::*serve)(ServerCall*)) {
    auto invoke = [&service = service_, serve](ServerCall* call) { (service.*serve)(call); };
    const std::string path = absl::StrCat("/", name_, "/", method);
    const bool is_new = handlers_.emplace(path, std::move(invoke)).second;
    ACCEL_CHECK(is_new, "each method has one handler");
    return *this;
  }

 private:
  Service& service_;
  const absl::string_view name_;
  Handlers& handlers_;
};

}  // namespace accel::coordinator
