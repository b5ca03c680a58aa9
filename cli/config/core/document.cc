#include "cli/config/core/document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/render/escape.h"
#include "common/printable.h"
#include "common/utf8.h"

namespace accel::cli {
namespace {

// The file's mapping, a section's, and a list in a section.
constexpr size_t kMaxDepth = 3;
constexpr size_t kMaxSentenceBytes = 360;

Mark MarkOf(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

// Returns the place of the first control character that is no white space. YAML has none, but the
// parser accepts them: it takes U+0004 for the end of the text, and NULs for another encoding.
std::optional<Mark> FirstControl(absl::string_view text) {
  Mark mark;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && !absl::ascii_isspace(byte)) || byte == 0x7f) return mark;
    ++mark.column;
    if (c == '\n') mark = {mark.line + 1, 1};
  }
  return std::nullopt;
}

// A problem that is no matter of YAML.
struct Refusal {
  Mark mark;
  std::string sentence;
};

// The text of JSON in which characters that were two surrogates are one escape of YAML, which is
// two bytes shorter than these.
struct JoinedText {
  std::string text;
  std::vector<Mark> joins;  // Where the joined escapes start in `text`, in order.

  // Returns the place in the text before.
  Mark Original(const YAML::Mark& mark) const {
    Mark place = MarkOf(mark);
    const auto is_before = [](const Mark& one, const Mark& other) {
      return std::pair(one.line, one.column) < std::pair(other.line, other.column);
    };
    const Mark line = {place.line, 0};
    const auto first = std::lower_bound(joins.begin(), joins.end(), line, is_before);
    const auto end = std::lower_bound(first, joins.end(), place, is_before);
    place.column += 2 * static_cast<int>(end - first);
    return place;
  }
};

// Returns the number of the escape "\\uXXXX" with which the text starts, if it is a surrogate.
std::optional<uint32_t> SurrogateAt(absl::string_view text) {
  uint32_t unit = 0;
  if (text.size() < 6 || text.substr(0, 2) != "\\u") return std::nullopt;
  if (!absl::c_all_of(text.substr(2, 4), absl::ascii_isxdigit)) return std::nullopt;
  const bool is_read = absl::SimpleHexAtoi(text.substr(2, 4), &unit);
  if (!is_read || unit < 0xd800 || unit > 0xdfff) return std::nullopt;
  return unit;
}

// Joins the surrogates in the strings of JSON.
std::variant<JoinedText, Refusal> JoinSurrogates(absl::string_view text) {
  JoinedText joined;
  Mark before, after;  // The place in `text` and in the joined one.
  bool in_string = false;
  while (!text.empty()) {
    size_t taken = in_string && text[0] == '\\' && text.size() > 1 && text[1] != '\n' ? 2 : 1;
    std::string written(text.substr(0, taken));
    if (const auto high = taken == 2 ? SurrogateAt(text) : std::nullopt) {
      const auto low = SurrogateAt(text.substr(6));
      if (*high >= 0xdc00 || !low.has_value() || *low < 0xdc00) {
        return Refusal{before, absl::StrCat(text.substr(0, 6),
                                            " is one half of a character; write both halves")};
      }
      const uint32_t character = 0x10000 + ((*high - 0xd800) << 10) + (*low - 0xdc00);
      written = absl::StrCat("\\U", absl::Hex(character, absl::kZeroPad8));
      joined.joins.push_back(after);
      taken = 12;
    }
    if (text[0] == '"') in_string = !in_string;
    const bool ends_line = text[0] == '\n';
    before = ends_line ? Mark{before.line + 1, 1}
                       : Mark{before.line, before.column + static_cast<int>(taken)};
    after = ends_line ? Mark{after.line + 1, 1}
                      : Mark{after.line, after.column + static_cast<int>(written.size())};
    joined.text += written;
    text.remove_prefix(taken);
  }
  return joined;
}

// Builds the tree from the parser's events. A tree of YAML::Node would lose the places of keys, and
// its size is not bounded by the text, because aliases copy nodes.
class TreeBuilder : public YAML::EventHandler {
 public:
  // `text` must outlive the builder.
  explicit TreeBuilder(const JoinedText& text) : text_(text) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) Refuse(mark, "a second document starts here; a file holds one");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    OnScalar(mark, "?", anchor, "");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(mark, "aliases (*name) are not read; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (!MayAdd(mark, tag, anchor)) return;
    if (ExpectsKey()) return TakeKey(mark, text);
    // The parser gives quoted scalars the tag "!".
    Put({text_.Original(mark), tag == "?" ? PlainScalar(text) : Value{text}, {text}, {}, false});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, {text_.Original(mark), Value{std::vector<Value>()}, {}, {}, false});
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, {text_.Original(mark), {}, {}, {}, true});
  }
  void OnMapEnd() override { Close(); }

  // Returns the first problem. All events after it were ignored.
  const std::optional<Refusal>& refusal() const { return refusal_; }
  Node Take() { return std::move(root_); }

 private:
  struct Level {
    Node node;
    bool has_key = false;
    std::string key;
    Mark key_mark;
    // The line of each key. A file may have tens of thousands of keys, so none is compared with
    // all.
    std::unordered_map<std::string, int> lines;
  };

  void Refuse(const YAML::Mark& mark, std::string sentence) {
    if (!refusal_.has_value()) refusal_ = Refusal{text_.Original(mark), std::move(sentence)};
  }

  bool MayAdd(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) Refuse(mark, "anchors (&name) are not read; remove it");
    if (!tag.empty() && tag != "?" && tag != "!")
      Refuse(mark, "tags (!name) are not read; remove it");
    return !refusal_.has_value();
  }

  bool ExpectsKey() const {
    return !levels_.empty() && levels_.back().node.is_mapping && !levels_.back().has_key;
  }

  void TakeKey(const YAML::Mark& mark, const std::string& text) {
    Level& level = levels_.back();
    const auto [before, is_new] = level.lines.emplace(text, text_.Original(mark).line);
    if (!is_new) {
      return Refuse(mark, absl::StrCat("the key ", Shown(text), " is already on line ",
                                       before->second, "; remove one"));
    }
    level.key = text;
    level.key_mark = text_.Original(mark);
    level.has_key = true;
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node node) {
    if (!MayAdd(mark, tag, anchor)) return;
    if (ExpectsKey()) return Refuse(mark, "a key must be a word");
    if (levels_.size() >= kMaxDepth) return Refuse(mark, "values are nested too deeply");
    levels_.push_back({std::move(node), false, "", {}, {}});
  }

  void Close() {
    if (refusal_.has_value()) return;
    Node node = std::move(levels_.back().node);
    levels_.pop_back();
    Put(std::move(node));
  }

  void Put(Node node) {
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.is_mapping) {
      level.has_key = false;
      level.node.members.push_back(
          {std::move(level.key), level.key_mark, std::make_shared<const Node>(std::move(node))});
      return;
    }
    if (node.is_mapping) {
      refusal_ = Refusal{node.mark, "a list must hold plain values"};
      return;
    }
    std::get<std::vector<Value>>(level.node.value.data).push_back(std::move(node.value));
    level.node.word_marks.push_back(node.mark);
    level.node.words.push_back(node.words.empty() ? "" : std::move(node.words.front()));
  }

  static std::string Shown(absl::string_view text) { return EscapeControls(text.substr(0, 80)); }

  const JoinedText& text_;
  std::vector<Level> levels_;
  Node root_;
  std::optional<Refusal> refusal_;
  int documents_ = 0;
};

}  // namespace

std::string PlaceOf(absl::string_view file, Mark mark) {
  return absl::StrCat(file, ":", mark.line, ":", mark.column);
}

std::string ShownSentence(absl::string_view sentence) {
  return common::Shortened(EscapeControls(sentence), kMaxSentenceBytes);
}

absl::Status ErrorAt(absl::string_view file, Mark mark, absl::string_view sentence) {
  return absl::InvalidArgumentError(
      absl::StrCat(PlaceOf(file, mark), ": ", ShownSentence(sentence)));
}

absl::StatusOr<Node> ParseDocument(absl::string_view file, absl::string_view text,
                                   const DocumentKind& kind) {
  if (text.size() > kMaxConfigBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": it has ", text.size(), " bytes; at most ", kMaxConfigBytes, " are read"));
  }
  if (!common::IsUtf8(text))
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": not UTF-8, so it is no YAML or JSON text; check that it is the right file"));
  if (const std::optional<Mark> control = FirstControl(text)) {
    return ErrorAt(file, *control, "a control character stands here; remove it");
  }
  JoinedText joined;
  if (absl::EndsWith(file, ".json")) {
    auto read = JoinSurrogates(text);
    if (const auto* refusal = std::get_if<Refusal>(&read)) {
      return ErrorAt(file, refusal->mark, refusal->sentence);
    }
    joined = std::get<JoinedText>(std::move(read));
  } else {
    joined.text = std::string(text);
  }
  TreeBuilder builder(joined);
  try {
    std::istringstream stream{joined.text};
    YAML::Parser parser(stream);
    // The parser may find documents without end, for example before a comma.
    while (parser.HandleNextDocument(builder) && !builder.refusal().has_value()) {
    }
  } catch (const YAML::Exception& error) {
    return ErrorAt(file, error.mark.is_null() ? Mark{} : joined.Original(error.mark),
                   absl::StrCat("not valid YAML",
                                absl::EndsWith(file, ".json") ? " or JSON: " : ": ", error.msg));
  }
  if (const auto& refusal = builder.refusal()) {
    return ErrorAt(file, refusal->mark, refusal->sentence);
  }
  Node root = builder.Take();
  if (root.is_mapping) return root;
  if (root.value.is_null()) {
    return ErrorAt(file, root.mark,
                   absl::StrCat("the file is empty; it must hold at least ", kind.needs));
  }
  return ErrorAt(file, root.mark,
                 absl::StrCat("the file must hold keys with values, such as ", kind.example));
}

}  // namespace accel::cli
