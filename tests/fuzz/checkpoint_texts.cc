// The other texts of a checkpoint: the state of the training, the index of weights in several
// files, and the claim on a folder.
#include "accel/errors.h"
#include "common/check.h"
#include "runtime/core/checkpoint_claim.h"
#include "runtime/core/training_state.h"
#include "runtime/core/weight_shards.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"

namespace accel::runtime {
namespace {

void CheckState(const std::string& text) {
  try {
    const TrainingState state = parse_training_state(text, "state.json");
    const std::string written = training_state_text(state);
    ACCEL_CHECK(training_state_text(parse_training_state(written, "again")) == written,
                "a state survives its encoding");
  } catch (const CheckpointError& error) {
    fuzz::CheckMessage(error.what());
  }
}

void CheckIndex(const std::string& text) {
  try {
    for (const auto& [weight, file] : parse_index(text, "index.json")) {
      ACCEL_CHECK(!file.empty() && file != ".." && file.find('/') == file.npos,
                  "all files are in the folder of the index");
    }
  } catch (const CheckpointError& error) {
    fuzz::CheckMessage(error.what());
  }
}

void CheckClaim(const std::string& text) {
  const Claim claim = parse_claim(text);
  ACCEL_CHECK(parse_claim(claim_text(claim)) == claim, "a claim survives its encoding");
}

}  // namespace

FUZZ_TARGET(bytes) {
  const std::string text(bytes);
  CheckState(text);
  CheckIndex(text);
  CheckClaim(text);
}

}  // namespace accel::runtime
