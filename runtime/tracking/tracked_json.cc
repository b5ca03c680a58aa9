#include "runtime/tracking/tracked_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace accel::runtime {
namespace {

using Json = nlohmann::json;

Json json_of(const TrackedValue& value) {
  struct Converter {
    Json operator()(double number) const {
      if (std::isnan(number)) return "NaN";
      if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
      return number;
    }
    Json operator()(bool truth) const { return truth; }
    Json operator()(std::int64_t number) const { return number; }
    Json operator()(const std::string& text) const { return text; }
  };
  return std::visit(Converter(), value.get());
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const TrackedValue& value) { return dump(json_of(value)); }

std::string to_json(const TrackedValues& values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) object[name] = json_of(value);
  return dump(object);
}

}  // namespace accel::runtime
