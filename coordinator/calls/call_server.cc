#include "coordinator/calls/call_server.h"

#include <algorithm>
#include <utility>

namespace accel::coordinator {
namespace {

// Number of calls that each queue is ready to take before its thread runs again.
constexpr int kAwaited = 16;

// Refuses compressed messages. gRPC bounds the size of a message only after it has decompressed it,
// and 16 MiB of zeros take 16 KiB.
void RefuseCompression(grpc::ServerBuilder* builder) {
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  // Calls then need no code for it.
  builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

}  // namespace

unsigned QueuesOfMachine() { return std::clamp(std::thread::hardware_concurrency() / 2, 1U, 16U); }

CallServer::CallServer(Handlers handlers, grpc::ServerBuilder* builder, unsigned queues)
    : handlers_(std::move(handlers)) {
  RefuseCompression(builder);
  builder->RegisterAsyncGenericService(&service_);
  for (unsigned i = 0; i < queues; ++i) queues_.push_back(builder->AddCompletionQueue());
}

void CallServer::Start() {
  for (const auto& queue : queues_) {
    for (int i = 0; i < kAwaited; ++i) Await(queue.get());
    threads_.emplace_back([&queue = *queue] {
      void* tag = nullptr;
      for (bool ok = false; queue.Next(&tag, &ok);) {
        auto* const done = static_cast<ServerCall::Tag*>(tag);
        (done->call->*done->happened)(ok);
      }
    });
  }
}

void CallServer::Stop(grpc::Server* server, std::chrono::system_clock::time_point cancel_at) {
  {
    // First, because gRPC may lose a call that is awaited while it shuts down.
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  server->Shutdown(cancel_at);
  {
    absl::MutexLock lock(&mutex_);
    auto ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return calls_ == 0; };
    mutex_.Await(absl::Condition(&ended));
  }
  for (const auto& queue : queues_) queue->Shutdown();
  for (std::thread& thread : threads_) thread.join();
}

void CallServer::Await(grpc::ServerCompletionQueue* queue) {
  absl::MutexLock lock(&mutex_);
  if (is_stopping_) return;
  ++calls_;
  new ServerCall(this, queue);  // It deletes itself through Delete().
}

void CallServer::Delete(ServerCall* call) {
  delete call;
  absl::MutexLock lock(&mutex_);
  --calls_;
}

const Handler* CallServer::Find(const std::string& method) const {
  const auto found = handlers_.find(method);
  return found == handlers_.end() ? nullptr : &found->second;
}

}  // namespace accel::coordinator
