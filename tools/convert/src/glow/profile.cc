// The parser handles yaml-cpp's events one at a time: aliases are errors, and unexpected structures
// are not stored.
#include "glow/profile.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <istream>
#include <numeric>
#include <set>
#include <streambuf>
#include <utility>

#include "bounds.h"
#include "qtx/format/limits.h"

namespace qtx::convert::glow {
namespace {

using YAML::Mark;

template <typename T>
std::optional<T> Number(const std::string& text) {
  T value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

class Reader : public YAML::EventHandler {
 public:
  std::optional<Error> error;
  Profile profile;

  void OnDocumentStart(const Mark& mark) override {
    if (state_ == State::kDone) Fail(mark, "found a document after the list");
  }
  void OnDocumentEnd() override {}
  void OnNull(const Mark& mark, YAML::anchor_t anchor) override { Scalar(mark, anchor, ""); }
  void OnAlias(const Mark& mark, YAML::anchor_t) override { Fail(mark, "found an alias"); }
  void OnScalar(const Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    Scalar(mark, anchor, value);
  }
  void OnSequenceStart(const Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    if (error) return;
    if (state_ == State::kTop) {
      state_ = State::kList;
    } else if (state_ == State::kEntry && key_ == "Histogram") {
      state_ = State::kHistogram;
    } else {
      Fail(mark, "found a list");
    }
  }
  void OnSequenceEnd() override {
    if (error) return;
    if (state_ == State::kHistogram) key_.clear();
    state_ = state_ == State::kHistogram ? State::kEntry : State::kDone;
  }
  void OnMapStart(const Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    if (error) return;
    seen_.clear();
    if (state_ == State::kTop) {
      state_ = State::kHeader;
    } else if (state_ == State::kList) {
      state_ = State::kEntry;
      profile.entries.emplace_back().line = mark.line + 1;
    } else {
      Fail(mark, "found a map");
    }
  }
  void OnMapEnd() override {
    if (error) return;
    if (state_ == State::kEntry) {
      CloseEntry(profile.entries.back());
      state_ = State::kList;
    } else {
      state_ = State::kTop;
    }
  }
  bool complete() const { return state_ == State::kDone; }

 private:
  enum class State { kTop, kHeader, kList, kEntry, kHistogram, kDone };

  void FailAt(int line, std::string message) {
    if (!error) {
      error = Error{ErrorCode::kInvalid, "line " + std::to_string(line), std::move(message)};
    }
  }
  void Fail(const Mark& mark, const std::string& found) {
    FailAt(mark.line + 1, found + "; expected " + Expected());
  }
  std::string Expected() const {
    if (!key_.empty()) return "the value of " + key_;
    switch (state_) {
      case State::kEntry:
        return "NodeOutputName, Min, Max, Histogram, Scale or Offset";
      case State::kHistogram:
        return "counts";
      case State::kHeader:
        return "GlowToolsVersion or GraphPreLowerHash";
      default:
        return "a list of NodeOutputName entries";
    }
  }
  void Scalar(const Mark& mark, YAML::anchor_t anchor, const std::string& text) {
    if (error) return;
    if (anchor != 0) return Fail(mark, "found an anchor");
    if (state_ == State::kHistogram) return Count(mark, text);
    if (state_ != State::kHeader && state_ != State::kEntry) return Fail(mark, "found a scalar");
    if (key_.empty()) return Key(mark, text);
    state_ == State::kHeader ? Header(mark, text) : Field(mark, text);
    key_.clear();
  }
  void Key(const Mark& mark, const std::string& text) {
    std::string key = text;
    if (!key.empty()) key[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(key[0])));
    const bool known = state_ == State::kHeader
                           ? key == "GlowToolsVersion" || key == "GraphPreLowerHash"
                           : key == "NodeOutputName" || key == "Min" || key == "Max" ||
                                 key == "Histogram" || key == "Scale" || key == "Offset";
    if (!known) return Fail(mark, "found key '" + text.substr(0, 80) + "'");
    if (!seen_.insert(key).second) return Fail(mark, "found key '" + key + "' twice");
    key_ = std::move(key);
  }
  void Header(const Mark& mark, const std::string& text) {
    if (key_ == "GraphPreLowerHash" && !IsHash(text))
      return Fail(mark, "found '" + text.substr(0, 80) + "'");
    (key_ == "GlowToolsVersion" ? profile.tools_version : profile.graph_hash) = text;
  }
  void Field(const Mark& mark, const std::string& text) {
    Entry& entry = profile.entries.back();
    if (key_ == "NodeOutputName") {
      entry.name = text;
    } else if (key_ == "Offset") {
      entry.offset = Number<std::int32_t>(text);
      if (!entry.offset) Fail(mark, "found '" + text.substr(0, 80) + "'");
    } else if (key_ == "Histogram") {
      if (!text.empty()) Fail(mark, "found '" + text.substr(0, 80) + "'");
    } else {
      auto& field = key_ == "Min" ? entry.min : key_ == "Max" ? entry.max : entry.scale;
      field = Number<float>(text);
      if (!field) Fail(mark, "found '" + text.substr(0, 80) + "', not a finite number");
    }
  }
  void Count(const Mark& mark, const std::string& text) {
    const auto count = Number<float>(text);
    auto& histogram = profile.entries.back().histogram;
    if (!count || *count < 0 || *count != std::floor(*count) || *count > 0x1p53F)
      return Fail(mark, "found '" + text.substr(0, 80) + "', not an integer count");
    if (histogram.size() >= static_cast<std::size_t>(format::kMaxHistogramBins))
      return Fail(mark, "found more than 2^20 bins");
    histogram.push_back(*count);
  }
  void CloseEntry(const Entry& entry) {
    const std::string whose = "entry '" + entry.name + "': ";
    if (entry.name.empty()) return FailAt(entry.line, "an entry without NodeOutputName");
    const bool profiled = entry.min && entry.max, quantized = entry.scale && entry.offset;
    if (profiled == quantized || entry.min.has_value() != entry.max.has_value() ||
        entry.scale.has_value() != entry.offset.has_value())
      return FailAt(entry.line, whose + "expected either Min and Max or Scale and Offset");
    if (profiled && *entry.min > *entry.max) return FailAt(entry.line, whose + "Min is above Max");
    // A whole number is exact in a double to 2^53, and so is their sum.
    const double total = std::accumulate(entry.histogram.begin(), entry.histogram.end(), 0.0);
    if (total > 0x1p53) return FailAt(entry.line, whose + "counts of more than 2^53 values");
    if (quantized && !(*entry.scale > 0)) FailAt(entry.line, whose + "Scale is not above 0");
  }

  State state_ = State::kTop;
  std::string key_;             // whose value comes next, its first letter a capital
  std::set<std::string> seen_;  // keys of the map
};

// The text as a stream, without a copy of it.
class TextBuffer : public std::streambuf {
 public:
  explicit TextBuffer(std::string_view text) {
    char* const begin = const_cast<char*>(text.data());  // a get area is never written
    setg(begin, begin, begin + text.size());
  }
};

// Writes every digit, unlike older writers; a binary32 has at most 149.
std::string Digits(float value) {
  char buffer[256];
  const int size = std::snprintf(buffer, sizeof(buffer), "%.149f", static_cast<double>(value));
  std::string text(buffer, static_cast<std::size_t>(size));
  while (text.back() == '0' && text[text.size() - 2] != '.') text.pop_back();
  return text;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

void AppendHistogram(const std::vector<float>& histogram, std::string& text) {
  text += "  Histogram:       [ ";
  for (std::size_t i = 0; i < histogram.size(); ++i) {
    char buffer[64];
    const auto end =
        std::to_chars(buffer, buffer + sizeof(buffer), histogram[i], std::chars_format::fixed).ptr;
    text.append(i == 0 ? "" : ", ").append(buffer, end);
  }
  text += " ]\n";
}

}  // namespace

bool IsHash(std::string_view text) {
  return text.size() > 2 && text.size() <= 18 && text.starts_with("0x") &&
         std::ranges::all_of(text.substr(2), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

Result<Profile> ParseProfile(std::string_view text) {
  QTX_RETURN_IF_ERROR(CheckTextSize(text));
  Reader reader;
  try {
    TextBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    while (!reader.error && parser.HandleNextDocument(reader)) {
    }
  } catch (const YAML::Exception& failed) {
    return Error{ErrorCode::kInvalid, "line " + std::to_string(failed.mark.line + 1),
                 "no YAML: " + failed.msg};
  }
  if (reader.error) return *std::move(reader.error);
  if (!reader.complete())
    return Error{ErrorCode::kInvalid, "", "found no list of NodeOutputName entries"};
  return std::move(reader.profile);
}

std::string ProfileText(const Profile& profile) {
  std::string text;
  if (profile.tools_version)
    text += "---\nGlowToolsVersion: " + Quoted(*profile.tools_version) + "\n...\n";
  if (profile.graph_hash) text += "---\nGraphPreLowerHash: " + *profile.graph_hash + "\n...\n";
  text += "---\n";
  if (profile.entries.empty()) text += "[]\n";
  for (const Entry& entry : profile.entries) {
    if (entry.scale) {
      text += "- nodeOutputName:  " + Quoted(entry.name) +
              "\n  scale:           " + Digits(*entry.scale) +
              "\n  offset:          " + std::to_string(*entry.offset) + "\n";
      continue;
    }
    text += "- NodeOutputName:  " + Quoted(entry.name) +
            "\n  Min:             " + Digits(*entry.min) +
            "\n  Max:             " + Digits(*entry.max) + "\n";
    AppendHistogram(entry.histogram, text);
  }
  return text + "...\n";
}

}  // namespace qtx::convert::glow
