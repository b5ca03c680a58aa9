// Decides about newcomers. Connects enrolment (security/enrolment) with the coordinator's state.
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
  // Blocks for at most `longest`. A newcomer that gets no answer repeats the request. `peer` is the
  // newcomer's address. Errors are those of Admit() in coordinator/core/access/admission.h, those
  // of CheckRequest(), and:
  //
  // * ALREADY_EXISTS: a connected node of the coordinator's own machine has the id.
  // * UNAVAILABLE: the time `longest` is over, the change was not stored, or the coordinator stops.
  // * RESOURCE_EXHAUSTED: too many requests are pending.
  security::EnrolmentAnswer Decide(const security::EnrolmentRequest& request,
                                   const std::string& peer,
                                   absl::Duration longest = absl::Seconds(2));

 private:
  const CoordinatorSlot& slot_;
  const PresentAuthority& authority_;
};

}  // namespace accel::coordinator
