#include "qtx/format/json_writer.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>

#include "qtx/format/text.h"

namespace qtx::format {
namespace {

constexpr std::int64_t kExact = std::int64_t{1} << 53;  // what a binary64 holds

}  // namespace

struct JsonWriter::State {
  Layout layout;
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> line{buffer};
  rapidjson::PrettyWriter<rapidjson::StringBuffer> document{buffer};

  // Calls `write` with the writer of the layout.
  template <typename Write>
  void With(const Write& write) {
    if (layout == Layout::kLine) {
      write(line);
    } else {
      write(document);
    }
  }

  void Raw(std::string_view json, rapidjson::Type type) {
    With([&](auto& writer) { writer.RawValue(json.data(), json.size(), type); });
  }
};

JsonWriter::JsonWriter(Layout layout) : state_(std::make_unique<State>()) {
  state_->layout = layout;
  state_->document.SetIndent(' ', 1);
}
JsonWriter::JsonWriter(JsonWriter&&) noexcept = default;
JsonWriter& JsonWriter::operator=(JsonWriter&&) noexcept = default;
JsonWriter::~JsonWriter() = default;

void JsonWriter::BeginObject() {
  state_->With([](auto& writer) { writer.StartObject(); });
}
void JsonWriter::EndObject() {
  state_->With([](auto& writer) { writer.EndObject(); });
}
void JsonWriter::BeginArray() {
  state_->With([](auto& writer) { writer.StartArray(); });
}
void JsonWriter::EndArray() {
  state_->With([](auto& writer) { writer.EndArray(); });
}
void JsonWriter::Key(std::string_view key) { Value(key); }
void JsonWriter::Value(std::string_view text) {
  state_->Raw(JsonString(text), rapidjson::kStringType);
}
void JsonWriter::Value(double number) {
  if (!std::isfinite(number)) return Null();
  state_->With([number](auto& writer) { writer.Double(number); });
}
void JsonWriter::Null() {
  state_->With([](auto& writer) { writer.Null(); });
}
void JsonWriter::Raw(std::string_view json) { state_->Raw(json, rapidjson::kObjectType); }
void JsonWriter::Flag(bool flag) {
  state_->With([flag](auto& writer) { writer.Bool(flag); });
}

void JsonWriter::Integer(std::int64_t number) {
  const bool exact = number <= kExact && number >= -kExact;
  if (!exact && state_->layout == Layout::kDocument) return Value(std::to_string(number));
  state_->With([number](auto& writer) { writer.Int64(number); });
}

void JsonWriter::Unsigned(std::uint64_t number) {
  const bool exact = number <= static_cast<std::uint64_t>(kExact);
  if (!exact && state_->layout == Layout::kDocument) return Value(std::to_string(number));
  state_->With([number](auto& writer) { writer.Uint64(number); });
}

std::string JsonWriter::Text() const {
  return {state_->buffer.GetString(), state_->buffer.GetSize()};
}

}  // namespace qtx::format
