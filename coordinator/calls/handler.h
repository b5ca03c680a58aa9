// What serves the calls of a method, and the handlers of all methods by their names.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "coordinator/calls/server_call.h"

namespace accel::coordinator {

struct Handler {
  // Serves one call, on the thread of its queue. Must not block for long.
  std::function<void(ServerCall*)> serve;
  // Whether the caller sends exactly one message, which is read before the call is served. Of other
  // methods, the handler reads the messages.
  bool has_request = true;
};

// The handlers by the path of the method, such as "/accel.v1.Coordinator/ListJobs".
using Handlers = absl::flat_hash_map<std::string, Handler>;

// The handlers of one service, whose methods are members of `service`.
template <typename Service>
class HandlersOf {
 public:
  using Member = void (Service::*)(ServerCall*);

  // `name` is the full name, such as "accel.v1.Coordinator".
  HandlersOf(Service* service, absl::string_view name) : service_(*service), name_(name) {}

  HandlersOf& Request(absl::string_view method, Member serve) { return Add(method, serve, true); }
  HandlersOf& Stream(absl::string_view method, Member serve) { return Add(method, serve, false); }
  Handlers Take() { return std::move(handlers_); }

 private:
  HandlersOf& Add(absl::string_view method, Member serve, bool has_request) {
    auto invoke = [&service = service_, serve](ServerCall* call) { (service.*serve)(call); };
    handlers_[absl::StrCat("/", name_, "/", method)] = {std::move(invoke), has_request};
    return *this;
  }

  Service& service_;
  const absl::string_view name_;
  Handlers handlers_;
};

}  // namespace accel::coordinator
