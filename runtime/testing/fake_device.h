// Two fake devices of one type, for tests of code that uses a GPU. LibTorch reserves the device
// type PrivateUse1 for devices that it does not know. The fake ones register as such. They work at
// once, in host memory, and note what they are asked to do in which stream. As with CUDA, each
// thread starts on the first one.
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <vector>

namespace accel::runtime {

inline constexpr c10::DeviceType kFake = c10::DeviceType::PrivateUse1;
inline const c10::Device kFakeDevice(kFake, 0), kSecondFakeDevice(kFake, 1);

// Registers the devices with LibTorch, on the first call.
void use_fake_device();

// What the devices were asked to do, such as "copy of pinned memory in the copies' stream". The
// stream that is current at first is "the current stream", and streams from the pool are "the
// copies' stream". Written by the threads that use the device, without a lock.
std::vector<std::string>& fake_notes();

// Returns true if the calling thread's current stream is the first one.
bool fake_stream_is_first();

// While `stuck`, events that have been recorded do not happen, as if a kernel never ended. A thread
// that waits for one blocks until the device is no longer stuck.
void set_fake_device_stuck(bool stuck);
bool fake_device_is_stuck();

// Returns the number of threads that are blocked until an event happens.
int fake_device_waiters();

}  // namespace accel::runtime
