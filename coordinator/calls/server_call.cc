#include "coordinator/calls/server_call.h"

#include <utility>

#include "common/grpc_status.h"
#include "coordinator/calls/call_server.h"

namespace accel::coordinator {

ServerCall::ServerCall(CallServer* server, grpc::ServerCompletionQueue* queue)
    : server_(*server), queue_(queue) {
  context_.AsyncNotifyWhenDone(&closed_);
  server_.service_.RequestCall(&context_, &stream_, queue, queue, &arrival_);
}

void ServerCall::OnArrival(bool ok) {
  if (!ok) return server_.Delete(this);  // The server is shutting down. No other event follows.
  server_.Await(queue_);
  const Handler* const handler = server_.Find(context_.method());
  if (handler == nullptr) return Finish(absl::UnimplementedError("there is no such method"));
  (*handler)(this);
}

void ServerCall::OnRequest(bool ok) {
  if (ok) {
    on_request_(request_);
  } else {
    Finish(absl::InvalidArgumentError("the call has no request"));
  }
  Release();
}

void ServerCall::OnMetadataSent(bool) { Release(); }

void ServerCall::OnRead(bool ok) {
  reactor_->OnReadDone(ok);
  Release();
}

void ServerCall::OnWritten(bool ok) {
  reactor_->OnWriteDone(ok);
  Release();
}

void ServerCall::OnFinished(bool) { Release(); }

void ServerCall::OnClosed(bool) {
  if (reactor_ != nullptr && !is_finishing_ && context_.IsCancelled()) reactor_->OnCancel();
  Release();
}

void ServerCall::Release() {
  if (--pending_ == 0) server_.Delete(this);
}

void ServerCall::ReadRequest(absl::AnyInvocable<void(const grpc::ByteBuffer& request)> serve) {
  on_request_ = std::move(serve);
  ++pending_;
  stream_.Read(&request_, &request_read_);
}

void ServerCall::StartSendInitialMetadata() {
  ++pending_;
  stream_.SendInitialMetadata(&metadata_sent_);
}

void ServerCall::StartRead(grpc::ByteBuffer* message) {
  ++pending_;
  stream_.Read(message, &read_);
}

void ServerCall::StartWrite(const grpc::ByteBuffer& message) {
  ++pending_;
  stream_.Write(message, &written_);
}

void ServerCall::Finish(const absl::Status& status) {
  is_finishing_ = true;
  stream_.Finish(common::ToGrpc(status), &finished_);
}

void ServerCall::FinishWith(const grpc::ByteBuffer& answer) {
  is_finishing_ = true;
  stream_.WriteAndFinish(answer, grpc::WriteOptions(), grpc::Status::OK, &finished_);
}

}  // namespace accel::coordinator
