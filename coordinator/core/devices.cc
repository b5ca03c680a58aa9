#include "coordinator/core/devices.h"

namespace accel::coordinator {

v1::Devices DecideDevices(const v1::JobSpec& spec, const ClusterState& state) {
  if (spec.cpu()) return v1::ON_CPUS;
  if (!spec.gpu_ids().empty() || state.gpus_seen) return v1::ON_GPUS;
  return v1::DEVICES_UNSPECIFIED;
}

v1::Devices DevicesOf(const v1::Job& job, const ClusterState& state) {
  if (job.devices() != v1::DEVICES_UNSPECIFIED) return job.devices();
  return DecideDevices(job.spec(), state) == v1::ON_GPUS ? v1::ON_GPUS : v1::ON_CPUS;
}

}  // namespace accel::coordinator
