// Serves the calls of a gRPC server through queues of their own, with one thread for each queue.
//
// gRPC's callback API would need none of this. But it reads the request before a handler can refuse
// the call, so calls whose request never comes would count as nobody's. And all callback calls of a
// process share one queue, whose threads get in each other's way. docs/decisions/0092 has figures.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/calls/handler.h"
#include "coordinator/calls/server_call.h"

namespace accel::coordinator {

// Returns half the number of cores, from 1 to 16. The other half is for the threads that answer the
// calls. More queues cost more for each event, because the thread that receives an event wakes the
// one whose queue it belongs to (docs/decisions/0092).
unsigned QueuesOfMachine();

// Thread-safe. The order of calls is: constructor, ServerBuilder::BuildAndStart(), Start(),
// Stop(). If the server does not start, nothing else may be called. The grpc::Server must be
// deleted before this object.
class CallServer {
 public:
  // Registers the handlers with the server that is being built. What they use must live until
  // Stop() returns. `queues` is at least 1.
  CallServer(Handlers handlers, grpc::ServerBuilder* builder, unsigned queues = QueuesOfMachine());

  // Begins to serve calls.
  void Start();
  // Takes no more calls, shuts the server down, and waits until all calls have ended. Those that
  // have not ended at `cancel_at` are cancelled.
  void Stop(grpc::Server* server, std::chrono::system_clock::time_point cancel_at);

 private:
  friend class ServerCall;

  // Waits for another call that arrives at this queue, unless Stop() has begun.
  void Await(grpc::ServerCompletionQueue* queue);
  void Delete(ServerCall* call);
  // Returns null if there is no such method.
  const Handler* Find(const std::string& method) const;

  const Handlers handlers_;
  grpc::AsyncGenericService service_;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::vector<std::thread> threads_;
  absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;  // Including those that have not arrived yet.
};

}  // namespace accel::coordinator
