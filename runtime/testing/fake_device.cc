#include "runtime/testing/fake_device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace accel::runtime {
namespace {

constexpr c10::StreamId kFirst = 0, kPool = 7;

thread_local c10::StreamId current_stream = kFirst;
thread_local c10::Device current_device = kFakeDevice;
std::atomic<bool> is_stuck = false;
std::atomic<int> waiters = 0;

void note(const std::string& what, c10::StreamId stream) {
  fake_notes().push_back(what +
                         (stream == kPool ? " in the copies' stream" : " in the current stream"));
}

struct FakeStreams final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kFake; }
  c10::Device exchangeDevice(c10::Device device) const override {
    return std::exchange(current_device, device);
  }
  c10::Device getDevice() const override { return current_device; }
  void setDevice(c10::Device device) const override { current_device = device; }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current_device = device; }
  c10::DeviceIndex deviceCount() const noexcept override { return 2; }
  c10::Stream getStream(c10::Device device) const noexcept override {
    return c10::Stream(c10::Stream::UNSAFE, device, current_stream);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, kPool);
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return c10::Stream(c10::Stream::UNSAFE, stream.device(),
                       std::exchange(current_stream, stream.id()));
  }
  void record(void** event, const c10::Stream& stream, c10::DeviceIndex,
              c10::EventFlag) const override {
    *event = &is_stuck;  // Any pointer but null.
    note("record", stream.id());
  }
  void block(void*, const c10::Stream& stream) const override { note("wait", stream.id()); }
  bool queryEvent(void*) const override { return !is_stuck; }
  void synchronizeEvent(void*) const override {
    ++waiters;
    is_stuck.wait(true);
    --waiters;
  }
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream& stream) const override {
    note("use", stream.id());
  }
};

// Host memory that LibTorch takes for the current device's memory, or for pinned memory.
struct FakeMemory final : at::HostAllocator {
  explicit FakeMemory(bool is_pinned) : is_pinned_(is_pinned) {}
  at::DataPtr allocate(std::size_t size) override {
    void* memory = std::malloc(size);
    const std::lock_guard lock(mutex_);
    allocated_.insert(memory);
    return {memory, memory, &std::free, is_pinned_ ? c10::Device(c10::kCPU) : current_device};
  }
  bool has_allocated(const void* memory) const {
    const std::lock_guard lock(mutex_);
    return allocated_.contains(memory);
  }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    std::memcpy(to, from, size);
  }
  bool record_event(void*, void*, c10::Stream) override { return true; }
  void empty_cache() override {}
  at::HostStats get_stats() override { return {}; }
  void reset_accumulated_stats() override {}
  void reset_peak_stats() override {}

 private:
  mutable std::mutex mutex_;
  std::set<const void*> allocated_;
  const bool is_pinned_;
};
FakeMemory device_memory(/*is_pinned=*/false), pinned_memory(/*is_pinned=*/true);

struct FakeHooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isPinnedPtr(const void* data) const override { return pinned_memory.has_allocated(data); }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_memory; }
};

at::Tensor empty(c10::SymIntArrayRef sizes, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard on(device);
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(sizes), &device_memory,
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   dtype.value_or(at::kFloat), format);
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device> device, std::optional<bool>) {
  const c10::OptionalDeviceGuard on(device);
  return at::detail::empty_strided_generic(sizes, strides, &device_memory,
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           dtype.value_or(at::kFloat));
}

// Returns the same memory as a tensor of the host.
at::Tensor on_host(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor.detach();
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                       at::TensorOptions(tensor.scalar_type()));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  on_host(to).copy_(on_host(from));
  if (from.is_cpu()) {
    note(std::string(non_blocking ? "copy" : "blocking copy") +
             (pinned_memory.has_allocated(from.const_data_ptr()) ? " of pinned memory" : ""),
         current_stream);
  }
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (to.sizes() != from.sizes()) {
    const at::Tensor resized = at::empty(from.sizes(), to.options());
    to.unsafeGetTensorImpl()->shallow_copy_from(resized.getIntrusivePtr());
  }
  return copy_from(from, to, /*non_blocking=*/false);
}

at::Tensor view(const at::Tensor& tensor, c10::SymIntArrayRef sizes) {
  return at::native::view(tensor, C10_AS_INTARRAYREF_SLOW(sizes));
}

at::Tensor as_strided(const at::Tensor& tensor, c10::SymIntArrayRef sizes,
                      c10::SymIntArrayRef strides, std::optional<c10::SymInt> offset) {
  return at::native::as_strided_tensorimpl(
      tensor, C10_AS_INTARRAYREF_SLOW(sizes), C10_AS_INTARRAYREF_SLOW(strides),
      offset ? std::optional(offset->guard_int(__FILE__, __LINE__)) : std::nullopt);
}

void on_the_host(const c10::OperatorHandle& call, torch::jit::Stack* stack) {
  at::native::cpu_fallback(call, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("view", view);
  library.impl("as_strided", as_strided);
}

// All other operators compute on the host, in copies.
TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_host>());
}

}  // namespace

void use_fake_device() {
  static const bool registered = [] {
    static FakeStreams streams;
    static FakeHooks hooks;
    static const c10::impl::DeviceGuardImplRegistrar registrar(kFake, &streams);
    c10::register_privateuse1_backend("fake");
    at::RegisterPrivateUse1HooksInterface(&hooks);
    at::setHostAllocator(kFake, &pinned_memory);
    return true;
  }();
  static_cast<void>(registered);
}

std::vector<std::string>& fake_notes() {
  static std::vector<std::string> notes;
  return notes;
}

bool fake_stream_is_first() { return current_stream == kFirst; }

void set_fake_device_stuck(bool stuck) {
  is_stuck = stuck;
  is_stuck.notify_all();
}

bool fake_device_is_stuck() { return is_stuck; }

int fake_device_waiters() { return waiters; }

}  // namespace accel::runtime
