// Two fake devices of one type, for tests of code that uses a GPU. LibTorch reserves the device
// type PrivateUse1 for devices that it does not know, and the fake devices register as such. They
// execute each operation immediately, in host memory. They note copies from the host, events and
// uses of memory with their streams. As with CUDA, each thread starts on the first device.
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <vector>

namespace accel::runtime {

inline constexpr c10::DeviceType kFake = c10::DeviceType::PrivateUse1;
inline const c10::Device kFakeDevice(kFake, 0), kSecondFakeDevice(kFake, 1);

// Registers the devices with LibTorch, on the first call.
void use_fake_device();

// Returns the notes of the devices, such as "copy of pinned memory in the copies' stream". The
// notes call the stream that is current at first "the current stream", and streams from the pool
// "the copies' stream". Threads that use the device write the notes without a lock.
std::vector<std::string>& fake_notes();

// Returns true if the calling thread's current stream is the first one.
bool fake_stream_is_first();

// While `stuck`, events that have been recorded do not happen, as if a kernel never ended. A thread
// that waits for such an event blocks until the device is no longer stuck.
void set_fake_device_stuck(bool stuck);
bool fake_device_is_stuck();

// Returns the number of threads that are blocked until an event happens.
int fake_device_waiters();

}  // namespace accel::runtime
