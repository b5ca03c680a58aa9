#include "coordinator/gate/stream_counts.h"

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"

namespace accel::coordinator {
namespace {

using nlohmann::json;

// Parses and frees a text of channelz. Returns null if the text is null or no JSON object, for
// example because the object is gone.
json Take(char* text) {
  if (text == nullptr) return nullptr;
  json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  gpr_free(text);
  return parsed.is_object() ? parsed : json(nullptr);
}

// Returns the member at this path, or null.
json At(const json& object, std::initializer_list<const char*> path) {
  json found = object;
  for (const char* name : path) {
    if (!found.is_object() || !found.contains(name)) return nullptr;
    found = json(found[name]);
  }
  return found;
}

// Returns a number, which channelz writes as a text, or leaves out if it is 0.
int64_t Number(const json& text) {
  int64_t number = 0;
  if (text.is_string() && absl::SimpleAtoi(text.get<std::string>(), &number)) return number;
  return 0;
}

std::vector<json> Elements(const json& list) {
  return list.is_array() ? std::vector<json>(list.begin(), list.end()) : std::vector<json>();
}

std::vector<json> Servers() { return Elements(At(Take(grpc_channelz_get_servers(0)), {"server"})); }

PeerStreams ReadSocket(int64_t id) {
  const json socket = Take(grpc_channelz_get_socket(id));
  PeerStreams streams;
  streams.counts.connection = id;
  streams.counts.started = Number(At(socket, {"socket", "data", "streamsStarted"}));
  streams.counts.succeeded = Number(At(socket, {"socket", "data", "streamsSucceeded"}));
  // The name is the kind of the transport and the peer: "chttp2 ipv4:10.0.0.1:4711".
  const json name = At(socket, {"socket", "ref", "name"});
  if (name.is_string()) {
    const std::string text = name.get<std::string>();
    streams.peer = text.substr(text.rfind(' ') + 1);
  }
  return streams;
}

}  // namespace

int64_t CallsStarted() {
  int64_t calls = 0;
  for (const json& server : Servers()) calls += Number(At(server, {"data", "callsStarted"}));
  return calls;
}

std::vector<PeerStreams> ReadStreamCounts() {
  std::vector<PeerStreams> all;
  for (const json& server : Servers()) {
    const int64_t server_id = Number(At(server, {"ref", "serverId"}));
    int64_t next = 0;
    while (true) {
      const json page = Take(grpc_channelz_get_server_sockets(server_id, next, /*max_results=*/0));
      const std::vector<json> sockets = Elements(At(page, {"socketRef"}));
      for (const json& socket : sockets) {
        const int64_t id = Number(At(socket, {"socketId"}));
        next = id + 1;
        all.push_back(ReadSocket(id));
      }
      if (sockets.empty() || At(page, {"end"}) == true) break;
    }
  }
  return all;
}

}  // namespace accel::coordinator
