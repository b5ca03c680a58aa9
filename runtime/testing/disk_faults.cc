#include "runtime/testing/disk_faults.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <iostream>
#include <utility>

namespace accel::runtime {
namespace {

DiskFaults faults;
std::atomic<int> operations{0};

template <typename Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::string path_of(int fd) {
  char path[4096];
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return std::string(path, static_cast<std::size_t>(std::max<ssize_t>(0, size)));
}

std::string path_at(int folder, const char* path) {
  return path[0] == '/' || folder == AT_FDCWD ? path : path_of(folder) + "/" + path;
}

// Returns true if the caller must carry out the operation. If false, the operation has failed, and
// errno is set. `half` does the part of the operation that is done when the process is killed.
bool admit(const DiskOperation& operation, const std::function<void()>& half = nullptr) {
  if (faults.under.empty() || !operation.path.starts_with(faults.under)) return true;
  if (++operations == faults.kill_at) {
    if (half) half();
    kill(getpid(), SIGKILL);
  }
  const int error = faults.error ? faults.error(operation) : 0;
  if (error != 0) errno = error;
  return error == 0;
}

int open_file(const char* name, const char* path, int flags, mode_t mode) {
  if ((flags & (O_CREAT | O_TRUNC)) != 0 &&
      !admit({name, path_at(AT_FDCWD, path), static_cast<unsigned>(flags)})) {
    return -1;
  }
  return real(static_cast<int (*)(const char*, int, ...)>(nullptr), name)(path, flags, mode);
}

ssize_t pwrite_file(const char* name, int fd, const void* data, size_t size, off_t offset) {
  const auto write = real(static_cast<ssize_t (*)(int, const void*, size_t, off_t)>(nullptr), name);
  const bool is_direct = (fcntl(fd, F_GETFL) & O_DIRECT) != 0;
  if (!admit({"pwrite", path_of(fd), 0, is_direct}, [&] { write(fd, data, size / 2, offset); })) {
    return -1;
  }
  return write(fd, data, size, offset);
}

}  // namespace

void set_disk_faults(DiskFaults next) {
  faults = std::move(next);
  operations = 0;
}

int in_child(const std::function<void()>& body) {
  std::cout.flush();
  const pid_t pid = fork();
  if (pid == 0) {
    int code = 0;
    try {
      body();
    } catch (const std::exception& error) {
      std::cerr << error.what() << std::endl;
      code = 1;
    }
    _exit(code);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

}  // namespace accel::runtime

using accel::runtime::admit;
using accel::runtime::path_at;
using accel::runtime::path_of;
using accel::runtime::real;

extern "C" {

#define ACCEL_OPEN(name)                                        \
  int name(const char* path, int flags, ...) {                  \
    va_list arguments;                                          \
    va_start(arguments, flags);                                 \
    const auto mode = va_arg(arguments, mode_t);                \
    va_end(arguments);                                          \
    return accel::runtime::open_file(#name, path, flags, mode); \
  }
ACCEL_OPEN(open)
ACCEL_OPEN(open64)
#undef ACCEL_OPEN

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  return accel::runtime::pwrite_file("pwrite", fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  return accel::runtime::pwrite_file("pwrite64", fd, data, size, offset);
}
int fallocate(int fd, int mode, off_t offset, off_t size) {
  if (!admit({"fallocate", path_of(fd)})) return -1;
  return real(&fallocate, "fallocate")(fd, mode, offset, size);
}
int ftruncate(int fd, off_t size) noexcept {
  if (!admit({"ftruncate", path_of(fd)})) return -1;
  return real(&ftruncate, "ftruncate")(fd, size);
}
int fsync(int fd) {
  if (!admit({"fsync", path_of(fd)})) return -1;
  return real(&fsync, "fsync")(fd);
}
int mkdir(const char* path, mode_t mode) noexcept {
  if (!admit({"mkdir", path})) return -1;
  return real(&mkdir, "mkdir")(path, mode);
}
int rename(const char* from, const char* to) noexcept {
  if (!admit({"rename", to})) return -1;
  return real(&rename, "rename")(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  if (!admit({"renameat2", path_at(to_folder, to), flags})) return -1;
  return real(&renameat2, "renameat2")(from_folder, from, to_folder, to, flags);
}
int link(const char* from, const char* to) noexcept {
  if (!admit({"link", to})) return -1;
  return real(&link, "link")(from, to);
}
int remove(const char* path) noexcept {
  if (!admit({"remove", path})) return -1;
  return real(static_cast<int (*)(const char*)>(&remove), "remove")(path);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  if (!admit({"unlinkat", path_at(folder, path)})) return -1;
  return real(&unlinkat, "unlinkat")(folder, path, flags);
}

}  // extern "C"
