#include "weights/core/pickle.h"

#include <bit>
#include <map>
#include <stdexcept>

#include "weights/core/shown.h"

namespace accel::weights {

using Kind = PickleValue::Kind;

bool PickleValue::is_object_of(std::string_view name) const {
  return kind == Kind::kObject && !items.empty() && items[0]->text == name;
}

const PickleValue* PickleValue::find(std::string_view key) const {
  if (kind == Kind::kObject && state != nullptr && state->kind == Kind::kDict)
    return state->find(key);
  if (kind != Kind::kDict) return nullptr;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i]->kind == Kind::kText && items[i]->text == key) return items[i + 1];
  }
  return nullptr;
}

// The state in which a pickle is read: a stack of values, marks in the stack, and a memo.
class PickleReader {
 public:
  PickleReader(std::string_view bytes, bool (*is_known)(std::string_view), Pickle& to)
      : bytes_(bytes), is_known_(is_known), to_(to) {}

  void run() {
    while (to_.root_ == nullptr) step(static_cast<unsigned char>(take(1)[0]));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("byte " + std::to_string(at_) + " of the pickle: " + what);
  }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail("it ends early");
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }

  std::uint64_t natural(std::size_t width) {
    const std::string_view raw = take(width);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
    }
    return value;
  }

  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) fail("it ends early");
    const std::string_view text = take(end - at_);
    take(1);
    return text;
  }

  PickleValue* make(Kind kind) {
    to_.values_.emplace_back().kind = kind;
    return &to_.values_.back();
  }
  PickleValue* push(PickleValue* value) {
    stack_.push_back(value);
    return value;
  }
  void push_number(Kind kind, std::int64_t number) { push(make(kind))->number = number; }
  void push_text(Kind kind, std::string_view text) { push(make(kind))->text = text; }

  PickleValue* pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("its stack is empty");
    PickleValue* value = stack_.back();
    stack_.pop_back();
    return value;
  }
  PickleValue* top() {
    PickleValue* value = pop();
    return push(value);
  }
  std::vector<const PickleValue*> pop_to_mark() {
    if (marks_.empty()) fail("it has no mark");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<const PickleValue*> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }

  void push_tuple(std::size_t count) {
    PickleValue* tuple = make(Kind::kList);
    tuple->items.resize(count);
    for (std::size_t i = count; i-- > 0;) tuple->items[i] = pop();
    push(tuple);
  }

  void push_global(std::string_view module, std::string_view name) {
    PickleValue* global = make(Kind::kGlobal);
    global->text = std::string(module) + " " + std::string(name);
    if (!is_known_(global->text)) {
      fail("it names " + shown(global->text) + ", which a checkpoint does not need");
    }
    push(global);
  }

  void push_object() {
    PickleValue* object = make(Kind::kObject);
    const PickleValue* arguments = pop();
    const PickleValue* callable = pop();
    if (callable->kind != Kind::kGlobal || arguments->kind != Kind::kList) fail("no call");
    object->items = {callable, arguments};
    push(object);
  }

  void extend(Kind kind, const std::vector<const PickleValue*>& items) {
    PickleValue* to = top();
    // A dict of a subclass, such as OrderedDict, is an object. Its entries are not needed.
    if (to->kind == Kind::kObject) return;
    if (to->kind != kind || (kind == Kind::kDict && items.size() % 2 != 0)) fail("no container");
    to->items.insert(to->items.end(), items.begin(), items.end());
  }

  void build() {
    const PickleValue* state = pop();
    PickleValue* object = top();
    if (object->kind != Kind::kObject) fail("a state without an object");
    object->state = state;
  }

  void memoize(std::uint64_t place) { memo_[place] = top(); }
  void recall(std::uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) fail("it has no value " + std::to_string(place));
    push(found->second);
  }

  void push_long(std::uint64_t width) {
    if (width > 8) fail("a number is too large");
    std::uint64_t value = natural(width);
    if (width > 0 && width < 8 && (value >> (8 * width - 1)) != 0) value |= ~0ULL << (8 * width);
    push_number(Kind::kInt, static_cast<std::int64_t>(value));
  }

  void push_real() {
    std::uint64_t bits = 0;
    for (const char byte : take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
    push(make(Kind::kFloat))->real = std::bit_cast<double>(bits);
  }

  void pop_appended(bool is_dict) {
    const PickleValue* value = pop();
    if (!is_dict) return extend(Kind::kList, {value});
    const PickleValue* key = pop();
    extend(Kind::kDict, {key, value});
  }

  void step(unsigned char opcode);
  bool step_value(unsigned char opcode);
  bool step_structure(unsigned char opcode);

  const std::string_view bytes_;
  bool (*const is_known_)(std::string_view);
  Pickle& to_;
  std::size_t at_ = 0;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;  // Sizes of the stack.
  std::map<std::uint64_t, PickleValue*> memo_;
};

bool PickleReader::step_value(unsigned char opcode) {
  switch (opcode) {
    case 'N':
      push(make(Kind::kNone));
      return true;
    case 0x88:
      push_number(Kind::kBool, 1);
      return true;
    case 0x89:
      push_number(Kind::kBool, 0);
      return true;
    case 'K':
      push_number(Kind::kInt, static_cast<std::int64_t>(natural(1)));
      return true;
    case 'M':
      push_number(Kind::kInt, static_cast<std::int64_t>(natural(2)));
      return true;
    case 'J':
      push_number(Kind::kInt, static_cast<std::int32_t>(natural(4)));
      return true;
    case 0x8a:
      push_long(natural(1));
      return true;
    case 'G':
      push_real();
      return true;
    case 0x8c:
      push_text(Kind::kText, take(natural(1)));
      return true;
    case 'X':
      push_text(Kind::kText, take(natural(4)));
      return true;
    case 0x8d:
      push_text(Kind::kText, take(natural(8)));
      return true;
    case 'C':
      push_text(Kind::kBytes, take(natural(1)));
      return true;
    case 'B':
      push_text(Kind::kBytes, take(natural(4)));
      return true;
    case ')':
      push(make(Kind::kList));
      return true;
    case ']':
      push(make(Kind::kList));
      return true;
    case 0x8f:
      push(make(Kind::kList));
      return true;
    case '}':
      push(make(Kind::kDict));
      return true;
    default:
      return false;
  }
}

bool PickleReader::step_structure(unsigned char opcode) {
  switch (opcode) {
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case 't': {
      PickleValue* tuple = make(Kind::kList);
      tuple->items = pop_to_mark();
      push(tuple);
      return true;
    }
    case 0x85:
      push_tuple(1);
      return true;
    case 0x86:
      push_tuple(2);
      return true;
    case 0x87:
      push_tuple(3);
      return true;
    case 'a':
      pop_appended(false);
      return true;
    case 's':
      pop_appended(true);
      return true;
    case 'e':
      extend(Kind::kList, pop_to_mark());
      return true;
    case 0x90:
      extend(Kind::kList, pop_to_mark());
      return true;
    case 'u':
      extend(Kind::kDict, pop_to_mark());
      return true;
    case 0x81:
      push_object();
      return true;  // NEWOBJ
    case 'R':
      push_object();
      return true;  // REDUCE
    case 'b':
      build();
      return true;
    case 'Q': {
      PickleValue* reference = make(Kind::kPersistent);
      reference->items = {pop()};
      push(reference);
      return true;
    }
    default:
      return false;
  }
}

void PickleReader::step(unsigned char opcode) {
  if (step_value(opcode) || step_structure(opcode)) return;
  switch (opcode) {
    case 0x80:
      take(1);
      break;  // The protocol. Its opcodes are checked one by one.
    case 0x95:
      take(8);
      break;  // The size of a frame.
    case 0x94:
      memoize(memo_.size());
      break;
    case 'q':
      memoize(natural(1));
      break;
    case 'r':
      memoize(natural(4));
      break;
    case 'h':
      recall(natural(1));
      break;
    case 'j':
      recall(natural(4));
      break;
    case 'c': {
      const std::string_view module = line();
      push_global(module, line());
      break;
    }
    case 0x93: {
      const PickleValue* name = pop();
      const PickleValue* module = pop();
      if (name->kind != Kind::kText || module->kind != Kind::kText) fail("no name");
      push_global(module->text, name->text);
      break;
    }
    case '.':
      to_.root_ = pop();
      break;
    default:
      fail("it has opcode " + std::to_string(opcode) + ", which torch does not write");
  }
}

Pickle::Pickle(std::string_view bytes, bool (*is_known)(std::string_view global)) {
  PickleReader(bytes, is_known, *this).run();
}

}  // namespace accel::weights
