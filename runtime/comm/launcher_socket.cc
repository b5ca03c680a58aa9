#include "runtime/comm/launcher_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdint>
#include <system_error>

namespace accel::runtime {
namespace {

template <typename Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void send_to_launcher(const std::string& socket, std::string_view message) {
  const std::size_t colon = socket.find(':');
  if (colon == std::string::npos) return;
  const std::string_view text = socket;
  int descriptor = -1;
  std::uint64_t inode = 0;
  if (!parse(text.substr(0, colon), descriptor) || !parse(text.substr(colon + 1), inode)) return;
  // The program may have closed the launcher's descriptor, and opened another file with
  // the same number.
  struct stat info {};
  if (fstat(descriptor, &info) != 0 || !S_ISSOCK(info.st_mode) || info.st_ino != inode) return;
  static_cast<void>(send(descriptor, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

}  // namespace accel::runtime
