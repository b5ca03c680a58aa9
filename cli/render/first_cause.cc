#include "cli/render/first_cause.h"

#include "common/exit_text.h"

namespace accel::cli {
namespace {

// Messages differ from time to time, for example by when a rank made its last step.
bool IsOneKind(const v1::ExitRecord& a, const v1::ExitRecord& b) {
  return a.kind() == b.kind() && a.code() == b.code() && a.signal() == b.signal() &&
         a.out_of_memory() == b.out_of_memory();
}

}  // namespace

const v1::FailureCause* FirstOtherCause(const v1::Job& job) {
  if (!job.has_cause()) return nullptr;
  for (const v1::GenerationRecord& record : job.generations()) {
    if (record.generation() >= job.cause().generation()) return nullptr;
    if (!record.has_cause() || common::IsOfNode(record.cause().exit())) continue;
    return IsOneKind(record.cause().exit(), job.cause().exit()) ? nullptr : &record.cause();
  }
  return nullptr;
}

}  // namespace accel::cli
