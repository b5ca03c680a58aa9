// A fake NVML library with two GPUs, for tests.
#include <stdio.h>
#include <string.h>

struct Memory {
  unsigned long long total, free, used;
};

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 2, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  return *device = (void*)(unsigned long)(index + 1), 0;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  return snprintf(uuid, size, "GPU-%lu000-abcd", (unsigned long)device) < 0;
}
int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  return snprintf(name, size, "Test %lu", (unsigned long)device) < 0;
}
int nvmlDeviceGetMemoryInfo(void* device, struct Memory* memory) {
  memset(memory, 0, sizeof(*memory));
  return memory->total = 1ull << 36, 0;
}
const char* nvmlErrorString(int code) { return code == 0 ? "Success" : "Unknown Error"; }
