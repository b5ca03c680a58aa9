#include "runtime/core/manifest.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "accel/errors.h"
#include "runtime/core/checkpoint_layout.h"
#include "runtime/core/crc32c.h"
#include "weights/core/parse_json.h"
#include "weights/core/shown.h"

namespace accel::runtime {
namespace {

using json = nlohmann::json;

constexpr int kVersion = 1;

// Returns the checksum of a manifest, which must not contain one yet. nlohmann::json sorts keys, so
// a manifest that was written and read back has the same text and the same checksum.
std::uint32_t own_checksum(const json& root) {
  const std::string text = root.dump();
  return extend_crc32c(0, text.data(), text.size());
}

// Returns a whole number from 0 to `most`. Throws CheckpointError for anything else, and not
// DamageError, because a text with the right checksum is not damaged, even if it is no manifest.
std::uint64_t natural(const json& object, const char* key, std::uint64_t most,
                      const std::string& file) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() > most) {
    throw CheckpointError(file + ": it has no valid \"" + key +
                          "\": accel did not write it, so load another checkpoint");
  }
  return found->get<std::uint64_t>();
}

// Returns true if the path is relative and cannot leave its folder.
bool is_inside(const std::string& name) {
  std::istringstream parts(name);
  std::string part;
  while (std::getline(parts, part, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return !name.empty() && name.back() != '/';
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  json root{{"version", kVersion},
            {"iteration", manifest.iteration},
            {"num_processes", manifest.num_processes},
            {"files", json::object()}};
  for (const auto& [name, facts] : manifest.files) {
    root["files"][name] = {{"size", facts.size}, {"crc32c", facts.crc32c}};
  }
  root["crc32c"] = own_checksum(root);
  return root.dump(2) + "\n";
}

Manifest parse_manifest(const std::string& text, const std::string& file) {
  json root = weights::parse_json(text);
  if (!root.is_object() || !root.contains("crc32c")) {
    throw DamageError(file + ": it is torn: it is not a complete manifest");
  }
  const json written = root["crc32c"];
  root.erase("crc32c");
  if (written != own_checksum(root)) {
    throw DamageError(file + ": it is corrupt: its checksum does not match");
  }
  // The checksum fits, so some version of accel wrote this text: what follows cannot be damage.
  if (const json version = root.value("version", json(0)); version != kVersion) {
    throw CheckpointError(file + ": it has format version " + weights::shown(version.dump()) +
                          ", but this program reads version " + std::to_string(kVersion) +
                          ": load it with the version of accel that wrote it");
  }
  Manifest manifest{
      .iteration = natural(root, "iteration", UINT64_MAX, file),
      .num_processes = static_cast<int>(natural(root, "num_processes", INT32_MAX, file)),
      .files = {}};
  const json files = root.contains("files") ? root["files"] : json::object();
  for (const auto& [name, facts] : files.items()) {
    if (!is_inside(name)) {
      throw CheckpointError(file + ": it lists " + weights::shown(name) +
                            ", which is not a file in its folder");
    }
    manifest.files[name] = {
        .size = natural(facts, "size", UINT64_MAX, file),
        .crc32c = static_cast<std::uint32_t>(natural(facts, "crc32c", UINT32_MAX, file))};
  }
  return manifest;
}

std::optional<std::string> damage_of(const FileFacts& listed, const FileFacts& found) {
  if (found == listed) return std::nullopt;
  if (found.size == listed.size) return "corrupt: its checksum does not match";
  return "torn: it has " + std::to_string(found.size) + " bytes of " + std::to_string(listed.size);
}

std::set<std::string> listed_names(const Manifest& manifest) {
  std::set<std::string> names{kManifestFile};
  for (const auto& [name, facts] : manifest.files) names.insert(name.substr(0, name.find('/')));
  return names;
}

}  // namespace accel::runtime
