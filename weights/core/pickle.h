// Reads Python's pickles as data. Nothing is ever imported or called. A global is read as a name,
// and a call as a value that holds the name and the arguments. Pure.
//
// Only the opcodes of torch's files are known (protocols 2 to 5, about 40). Every value takes at
// least one byte of the file, so the memory is bounded by the size of the file.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace accel::weights {

struct PickleValue {
  enum class Kind {
    kNone,
    kBool,
    kInt,
    kFloat,
    kText,
    kBytes,
    kList,       // Lists, tuples and sets.
    kDict,       // items has the key and the value of each entry in turn.
    kGlobal,     // text is "module name".
    kObject,     // The result of a call. items[0] is the global, items[1] the arguments.
    kPersistent  // A reference to data outside the pickle. items[0] is its id.
  };
  Kind kind = Kind::kNone;
  std::int64_t number = 0;  // The value of kBool and kInt.
  double real = 0;          // The value of kFloat.
  std::string text;
  std::vector<const PickleValue*> items;
  const PickleValue* state = nullptr;  // The state of an object, if it has one.

  // Returns true if this is an object that the global `name` would have made.
  bool is_object_of(std::string_view name) const;
  // Returns the value of a text key in a dict, or in an object's state that is a dict, or null.
  const PickleValue* find(std::string_view key) const;
};

// Owns the values of one pickle.
class Pickle {
 public:
  // Throws std::invalid_argument, which names the byte, if the pickle ends early or has an opcode
  // that torch's files do not have. Also throws it for a global for which `is_known` returns false.
  Pickle(std::string_view bytes, bool (*is_known)(std::string_view global));

  const PickleValue& root() const { return *root_; }

 private:
  friend class PickleReader;
  std::deque<PickleValue> values_;
  const PickleValue* root_ = nullptr;
};

}  // namespace accel::weights
