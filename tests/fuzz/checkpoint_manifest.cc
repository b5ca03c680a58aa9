// The manifest of a checkpoint, on a disk that may lose or change any part of it, or from
// elsewhere.
#include <nlohmann/json.hpp>

#include "accel/errors.h"
#include "common/check.h"
#include "runtime/core/crc32c.h"
#include "runtime/core/manifest.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"
#include "weights/core/parse_json.h"

namespace accel::runtime {
namespace {

void Check(const std::string& text) {
  try {
    const Manifest manifest = parse_manifest(text, "manifest.json");
    ACCEL_CHECK(parse_manifest(manifest_text(manifest), "again") == manifest,
                "a manifest survives its encoding");
    for (const std::string& name : listed_names(manifest)) {
      ACCEL_CHECK(!name.empty() && name != "." && name != ".." && name.find('/') == name.npos,
                  "all files are in the checkpoint's folder");
    }
  } catch (const CheckpointError& error) {
    fuzz::CheckMessage(error.what());
  }
}

// Returns the text with the checksum that it should have, because a change is refused for that
// alone. Empty if it is no JSON object.
std::string WithChecksum(const std::string& text) {
  nlohmann::json root = weights::parse_json(text);
  if (!root.is_object()) return "";
  root.erase("crc32c");
  const std::string rest = root.dump();
  root["crc32c"] = extend_crc32c(0, rest.data(), rest.size());
  return root.dump();
}

}  // namespace

FUZZ_TARGET(text) {
  const std::string manifest(text);
  Check(manifest);
  Check(WithChecksum(manifest));
}

}  // namespace accel::runtime
