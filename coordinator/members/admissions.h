// Decides about newcomers: connects enrolment (security/enrolment) with the coordinator's state.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "coordinator/members/coordinator_slot.h"
#include "coordinator/members/present_authority.h"
#include "security/enrolment/enrolment_frames.h"

namespace accel::coordinator {

// Thread-safe.
class Admissions {
 public:
  // The arguments must outlive this object.
  Admissions(const CoordinatorSlot* slot, const PresentAuthority* authority)
      : slot_(*slot), authority_(*authority) {}

  // Checks the request, commits its effect, notes it in the audit log, and returns the answer.
  // Blocks until then, at most `longest`; the newcomer repeats a request without an answer. `peer`
  // is the newcomer's address. Errors are those of Admit() in coordinator/core/access/admission.h,
  // those of CheckRequest(), and UNAVAILABLE.
  security::EnrolmentAnswer Decide(const security::EnrolmentRequest& request,
                                   const std::string& peer,
                                   absl::Duration longest = absl::Seconds(2));

 private:
  const CoordinatorSlot& slot_;
  const PresentAuthority& authority_;
};

}  // namespace accel::coordinator
