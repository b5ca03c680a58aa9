// One call of a gRPC method at the server. Its messages are bytes, because gRPC would otherwise
// parse a message before its caller is known, and would bound only its length. See call_server.h,
// which makes the calls.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

namespace accel::coordinator {

class CallServer;

// Receives the events of one call. They come one at a time, on the thread of the call's queue. They
// should not block, because the calls of a queue share that thread.
class CallReactor {
 public:
  virtual ~CallReactor() = default;  // After the last event, on the same thread.

  // StartRead() or StartWrite() is done. `ok` is false if the caller is gone, has sent its last
  // message (only reads), or has sent one that is too large (only reads).
  virtual void OnReadDone(bool ok) { static_cast<void>(ok); }
  virtual void OnWriteDone(bool ok) { static_cast<void>(ok); }
  // Before Finish(), the caller is gone, its deadline is over, or the server shuts down.
  virtual void OnCancel() {}
};

// Thread-safe, with at most one read and one write at a time. Finish() or FinishWith() must be
// called exactly once, when no write is pending, also for a call whose caller is gone. As soon as
// it has begun, the call may be deleted by the thread of its queue, so no other thread may use the
// call any more. That thread may still start a read, within a handler or an event.
class ServerCall {
 public:
  ServerCall(const ServerCall&) = delete;
  ServerCall& operator=(const ServerCall&) = delete;

  grpc::ServerContextBase& context() { return context_; }
  // Returns the address of the caller's connection in the form of ServerContext::peer().
  std::string peer() const { return context_.peer(); }
  // Sets the receiver of the events. Must be called by the handler itself, at most once. The call
  // owns the reactor.
  void React(std::unique_ptr<CallReactor> reactor) { reactor_ = std::move(reactor); }

  // Reads the only message of the caller, and calls `serve` with it on the thread of the queue.
  // Ends the call with INVALID_ARGUMENT if there is no message. At most once, instead of
  // StartRead().
  void ReadRequest(absl::AnyInvocable<void(const grpc::ByteBuffer& request)> serve);
  // Sends the initial metadata before there is a message. At most once, before the first write.
  void StartSendInitialMetadata();
  // Reads a message into *message, which must live until OnReadDone().
  void StartRead(grpc::ByteBuffer* message);
  void StartWrite(const grpc::ByteBuffer& message);
  // Ends the call with a status, or with OK after one last message.
  void Finish(const absl::Status& status);
  void FinishWith(const grpc::ByteBuffer& answer);

 private:
  friend class CallServer;

  // What gRPC returns when an operation is done.
  struct Tag {
    ServerCall* call;
    void (ServerCall::*happened)(bool ok);
  };

  // Waits for a call that arrives at this queue.
  ServerCall(CallServer* server, grpc::ServerCompletionQueue* queue);

  void OnArrival(bool ok);
  void OnRequest(bool ok);
  void OnMetadataSent(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnClosed(bool ok);
  // Notes that the event of one operation was handled. Deletes the call after the last one.
  void Release();

  CallServer& server_;
  grpc::ServerCompletionQueue* const queue_;
  Tag arrival_{this, &ServerCall::OnArrival};
  Tag request_read_{this, &ServerCall::OnRequest};
  Tag metadata_sent_{this, &ServerCall::OnMetadataSent};
  Tag read_{this, &ServerCall::OnRead};
  Tag written_{this, &ServerCall::OnWritten};
  Tag finished_{this, &ServerCall::OnFinished};
  Tag closed_{this, &ServerCall::OnClosed};

  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  grpc::ByteBuffer request_;
  absl::AnyInvocable<void(const grpc::ByteBuffer&)> on_request_;
  std::unique_ptr<CallReactor> reactor_;
  std::atomic<bool> is_finishing_{false};
  // Number of operations whose event was not handled yet. It includes the end of the call and
  // Finish() from the beginning.
  std::atomic<int> pending_{2};
};

}  // namespace accel::coordinator
