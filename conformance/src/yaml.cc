#include "yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <istream>
#include <optional>
#include <sstream>
#include <utility>

#include "qtx/conformance/case.h"

namespace qtx::conformance {
namespace {

// Builds the tree from yaml-cpp's events rather than its Node, whose aliases share subtrees: a
// "billion laughs" document would never be fully walked. After the first error, events are ignored,
// because a handler can stop the parser only by throwing.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string where, int first_line)
      : where_(std::move(where)), first_line_(first_line) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(mark, anchor, Yaml::Kind::kNull, {}, false);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { RefuseAnchor(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    // yaml-cpp tags a quoted scalar "!" and a plain one "?".
    Add(mark, anchor, Yaml::Kind::kScalar, value, tag == "!");
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, anchor, Yaml::Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, anchor, Yaml::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

  const std::optional<Error>& error() const { return error_; }
  std::vector<Yaml> TakeDocuments() { return std::move(documents_); }
  int LineOf(const YAML::Mark& mark) const { return first_line_ + std::max(mark.line, 0); }
  std::string Place(int line) const { return where_ + ":" + std::to_string(line); }

 private:
  static constexpr std::size_t kMaxKeys = 1024;

  // A map under construction has a pending key until the event of its value.
  struct Level {
    Yaml node;
    std::optional<std::string> key;
  };

  void Fail(ErrorCode code, int line, std::string message) {
    if (!error_) error_ = Error{code, Place(line), std::move(message)};
  }

  void RefuseAnchor(const YAML::Mark& mark) {
    Fail(ErrorCode::kInvalid, LineOf(mark),
         "found a YAML anchor or alias, expected none (write the value out, or use matrix)");
  }

  bool Admit(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) RefuseAnchor(mark);
    if (++nodes_ > kMaxYamlNodes) {
      Fail(ErrorCode::kTooLarge, LineOf(mark),
           "found more than " + std::to_string(kMaxYamlNodes) + " YAML nodes");
    }
    return !error_;
  }

  void Add(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind, const std::string& text,
           bool quoted) {
    if (!Admit(mark, anchor)) return;
    if (AwaitsKey()) return SetKey(mark, kind, text);
    Yaml node;
    node.kind = kind;
    node.text = text;
    node.quoted = quoted;
    node.line = LineOf(mark);
    Attach(std::move(node));
  }

  bool AwaitsKey() const {
    return !stack_.empty() && stack_.back().node.is_map() && !stack_.back().key;
  }

  void SetKey(const YAML::Mark& mark, Yaml::Kind kind, const std::string& text) {
    Level& level = stack_.back();
    if (kind != Yaml::Kind::kScalar) {
      return Fail(ErrorCode::kInvalid, LineOf(mark), "found a key that is not a scalar");
    }
    if (level.node.Find(text) != nullptr) {
      return Fail(ErrorCode::kInvalid, LineOf(mark), "key '" + text + "' is given twice");
    }
    // Lookup of keys is linear, so their number is limited.
    if (level.node.keys.size() >= kMaxKeys) {
      return Fail(ErrorCode::kTooLarge, LineOf(mark),
                  "found more than " + std::to_string(kMaxKeys) + " keys in one map");
    }
    level.key = text;
  }

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind) {
    if (!Admit(mark, anchor)) return;
    if (AwaitsKey()) return SetKey(mark, kind, {});
    if (stack_.size() >= static_cast<std::size_t>(kMaxYamlDepth)) {
      return Fail(ErrorCode::kTooLarge, LineOf(mark),
                  "nested deeper than " + std::to_string(kMaxYamlDepth) + " levels");
    }
    Level level;
    level.node.kind = kind;
    level.node.line = LineOf(mark);
    stack_.push_back(std::move(level));
  }

  void Close() {
    if (error_ || stack_.empty()) return;
    Yaml node = std::move(stack_.back().node);
    stack_.pop_back();
    Attach(std::move(node));
  }

  void Attach(Yaml node) {
    if (stack_.empty()) {
      if (!node.is_null()) documents_.push_back(std::move(node));
      return;
    }
    Level& level = stack_.back();
    if (level.key) level.node.keys.push_back(*std::exchange(level.key, std::nullopt));
    level.node.items.push_back(std::move(node));
  }

  std::string where_;
  int first_line_;
  std::int64_t nodes_ = 0;
  std::vector<Level> stack_;
  std::vector<Yaml> documents_;
  std::optional<Error> error_;
};

}  // namespace

const Yaml* Yaml::Find(std::string_view key) const {
  const auto found = std::find(keys.begin(), keys.end(), key);
  if (found == keys.end()) return nullptr;
  return &items[static_cast<std::size_t>(found - keys.begin())];
}

std::string_view KindName(Yaml::Kind kind) {
  switch (kind) {
    case Yaml::Kind::kNull:
      return "nothing";
    case Yaml::Kind::kScalar:
      return "a scalar";
    case Yaml::Kind::kList:
      return "a list";
    case Yaml::Kind::kMap:
      return "a map";
  }
  return "nothing";
}

Result<std::vector<Yaml>> ParseYaml(std::string_view text, const std::string& where,
                                    int first_line) {
  if (std::ssize(text) > kMaxCaseFileBytes) {
    return Error{ErrorCode::kTooLarge, where,
                 "found " + std::to_string(text.size()) + " bytes, expected at most " +
                     std::to_string(kMaxCaseFileBytes)};
  }
  TreeBuilder builder(where, first_line);
  // yaml-cpp throws on malformed text, and only this file includes it.
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (!builder.error() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& exception) {
    if (!builder.error()) {
      return Error{ErrorCode::kInvalid, builder.Place(builder.LineOf(exception.mark)),
                   "malformed YAML: " + exception.msg};
    }
  } catch (const std::exception& exception) {
    return Error{ErrorCode::kTooLarge, where, exception.what()};
  }
  if (builder.error()) return *builder.error();
  return builder.TakeDocuments();
}

}  // namespace qtx::conformance
