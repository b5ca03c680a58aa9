// Measures what gRPC alone costs a server that starts something on many clients.
//
//   grpc_floor STREAMS
//
// A server writes one message to each of STREAMS streams, and each client answers with one message.
// Server and clients do nothing else. The messages are as large as a start and its report in
// `bench/run rendezvous`. No coordinator whose agents use gRPC can start a job for less. Prints the
// seconds from the first write until the last answer, and the server's CPU seconds meanwhile.
// STREAMS is rounded down to a multiple of four.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/descriptors.h"
#include "coordinator/calls/call_server.h"
#include "coordinator/calls/handler.h"

namespace accel::bench {
namespace {

constexpr int kProcesses = 4;  // Of clients, as in agent_processes.cc.
constexpr size_t kStartBytes = 1070;
constexpr size_t kReportBytes = 960;

grpc::ByteBuffer Message(size_t bytes) {
  const grpc::Slice slice(std::string(bytes, 'x'));
  return {&slice, 1};
}

// Counts events, and waits for them.
class Count {
 public:
  void Add() {
    absl::MutexLock lock(&mutex_);
    ++count_;
  }
  void Await(int count) {
    absl::MutexLock lock(&mutex_);
    auto reached = [this, count]()
                       ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return count_ >= count; };
    mutex_.Await(absl::Condition(&reached));
  }

 private:
  absl::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

class ServerStream final : public coordinator::CallReactor {
 public:
  ServerStream(coordinator::ServerCall* call, Count* reports) : call_(*call), reports_(*reports) {
    call_.StartRead(&report_);
  }
  void Start() { call_.StartWrite(start_); }

  void OnReadDone(bool ok) override {
    if (!ok) return call_.Finish(absl::OkStatus());
    reports_.Add();
    call_.StartRead(&report_);
  }

 private:
  coordinator::ServerCall& call_;
  Count& reports_;
  const grpc::ByteBuffer start_ = Message(kStartBytes);
  grpc::ByteBuffer report_;
};

class Service {
 public:
  coordinator::Handlers handlers() {
    coordinator::Handlers handlers;
    coordinator::HandlerAdder(this, "accel.bench", &handlers).Add("Start", &Service::Connect);
    return handlers;
  }

  // Each client sends a report when it connects.
  void AwaitStreams(int streams) { reports_.Await(streams); }
  // Writes to each stream and waits for the answers.
  void StartAll() {
    std::vector<ServerStream*> streams;
    {
      absl::MutexLock lock(&mutex_);
      streams = streams_;
    }
    for (ServerStream* stream : streams) stream->Start();
    reports_.Await(2 * static_cast<int>(streams.size()));
  }

 private:
  void Connect(coordinator::ServerCall* call) {
    auto stream = std::make_unique<ServerStream>(call, &reports_);
    {
      absl::MutexLock lock(&mutex_);
      streams_.push_back(stream.get());
    }
    call->React(std::move(stream));
  }

  Count reports_;
  absl::Mutex mutex_;
  std::vector<ServerStream*> streams_ ABSL_GUARDED_BY(mutex_);
};

// A client. The tags of its operations point to Operation.
class ClientStream {
 public:
  ClientStream(const std::string& address, grpc::CompletionQueue* queue) : stub_(Channel(address)) {
    context_.set_wait_for_ready(true);  // The first attempts may find the server's backlog full.
    stream_ = stub_.PrepareCall(&context_, "/accel.bench/Start", queue);
    stream_->StartCall(&connected_);
  }

  // Goes on after the operation with this tag.
  static void Continue(void* tag) {
    auto* const done = static_cast<Operation*>(tag);
    if (done->next != nullptr) (done->stream->*done->next)();
  }

 private:
  struct Operation {
    ClientStream* stream;
    void (ClientStream::*next)();  // Null if nothing follows.
  };

  void Report() {
    stream_->Write(report_, &written_);
    stream_->Read(&start_, &read_);
  }

  static std::shared_ptr<grpc::Channel> Channel(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // A connection for each stream.
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  Operation connected_{this, &ClientStream::Report};
  Operation read_{this, &ClientStream::Report};
  Operation written_{this, nullptr};
  grpc::ByteBuffer start_;
  grpc::ByteBuffer report_ = Message(kReportBytes);
};

// A process that plays clients. It begins once there is a byte in the pipe `ready`, and ends
// with the server.
[[noreturn]] void RunClients(const std::string& address, int streams, int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char byte = 0;
  if (read(ready, &byte, 1) != 1) _exit(1);
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<ClientStream>> clients;
  for (int i = 0; i < streams; ++i) {
    clients.push_back(std::make_unique<ClientStream>(address, &queue));
  }
  void* tag = nullptr;
  for (bool ok = false; queue.Next(&tag, &ok) && ok;) ClientStream::Continue(tag);
  _exit(1);
}

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// Writes a byte for each process of clients to `ready` when the server listens.
void Measure(const std::string& address, int streams, int ready) {
  // None of these is deleted, because a server waits for the end of its streams.
  auto& service = *new Service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // No pings, as in the coordinator.
  auto& calls = *new coordinator::CallServer(service.handlers(), &builder);
  const grpc::Server* const server = builder.BuildAndStart().release();
  if (server == nullptr) std::exit(1);
  calls.Start();
  const std::string bytes(kProcesses, '1');
  if (write(ready, bytes.data(), bytes.size()) != kProcesses) std::exit(1);
  service.AwaitStreams(streams);
  const absl::Time begin = common::SteadyClock()->Now();
  const double cpu_before = CpuSeconds();
  service.StartAll();
  std::printf("%.6f %.6f\n", absl::ToDoubleSeconds(common::SteadyClock()->Now() - begin),
              CpuSeconds() - cpu_before);
  std::fflush(stdout);
}

}  // namespace
}  // namespace accel::bench

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  accel::common::RaiseDescriptorLimit();
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const std::string address = absl::StrCat("unix-abstract:accel-bench-", getpid());
  const int streams = std::atoi(argv[1]) / accel::bench::kProcesses;  // In one process.
  int ready[2];
  if (pipe(ready) != 0) return 1;
  // gRPC does not survive a fork, so this process forks before it uses it.
  for (int i = 0; i < accel::bench::kProcesses; ++i) {
    const pid_t clients = fork();
    if (clients < 0) return 1;
    if (clients == 0) accel::bench::RunClients(address, streams, ready[0]);
  }
  accel::bench::Measure(address, streams * accel::bench::kProcesses, ready[1]);
  _exit(0);  // Closing thousands of streams one by one takes long. The clients end with this one.
}
