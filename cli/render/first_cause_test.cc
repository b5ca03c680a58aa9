#include "cli/render/first_cause.h"

#include <gtest/gtest.h>

#include "common/parse_text.h"

namespace accel::cli {
namespace {

v1::Job Failed() {
  return common::ParseText<v1::Job>(R"pb(
    generations {
      generation: 1
      cause {
        generation: 1
        exit { kind: NODE_LOST message: "it was rebooted" }
      }
    }
    generations {
      generation: 2
      cause {
        generation: 2
        exit { kind: EXITED code: 3 }
      }
    }
    generations {
      generation: 3
      cause {
        generation: 3
        exit { kind: EXITED code: 4 }
      }
    }
    generations {
      generation: 4
      cause {
        generation: 4
        exit { kind: EXITED code: 5 }
      }
    }
    cause {
      generation: 4
      exit { kind: EXITED code: 5 }
    })pb");
}

TEST(FirstOtherCause, IsTheJobsOwnFirstFailure) {
  const v1::Job job = Failed();
  ASSERT_NE(FirstOtherCause(job), nullptr);
  EXPECT_EQ(FirstOtherCause(job)->generation(), 2);
}

TEST(FirstOtherCause, OneKindOfFailureHasNoOther) {
  v1::Job job = Failed();
  v1::ExitRecord* first = job.mutable_generations(1)->mutable_cause()->mutable_exit();
  first->set_code(5);
  first->set_message("the memory of its job had a peak of 3.0 MiB");
  EXPECT_EQ(FirstOtherCause(job), nullptr);
}

TEST(FirstOtherCause, OneGenerationHasNoOther) {
  v1::Job job = Failed();
  job.mutable_generations()->DeleteSubrange(0, 3);
  EXPECT_EQ(FirstOtherCause(job), nullptr);
  job.clear_cause();
  EXPECT_EQ(FirstOtherCause(job), nullptr);
  EXPECT_EQ(FirstOtherCause(v1::Job()), nullptr);
}

}  // namespace
}  // namespace accel::cli
