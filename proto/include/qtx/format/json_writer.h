// JSON that this project writes.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace qtx::format {

class JsonWriter {
 public:
  enum class Layout {
    kLine,      // without spaces; for ourselves and for pages, which read each integer's digits
    kDocument,  // indented by a space a level; integers beyond 2^53, which many readers round, are
                // strings of digits
  };
  explicit JsonWriter(Layout layout = Layout::kDocument);
  JsonWriter(JsonWriter&&) noexcept;
  JsonWriter& operator=(JsonWriter&&) noexcept;
  ~JsonWriter();

  void BeginObject();
  void EndObject();
  void BeginArray();
  void EndArray();
  void Key(std::string_view key);

  void Value(std::string_view text);
  void Value(const char* text) { Value(std::string_view(text)); }
  void Value(const std::string& text) { Value(std::string_view(text)); }
  /// null where it is not finite, which JSON does not have.
  void Value(double number);
  void Value(std::integral auto number) {
    if constexpr (std::same_as<decltype(number), bool>) {
      Flag(number);
    } else if constexpr (std::is_signed_v<decltype(number)>) {
      Integer(std::int64_t{number});
    } else {
      Unsigned(std::uint64_t{number});
    }
  }
  template <typename T>
  void Value(const std::vector<T>& values) {
    BeginArray();
    for (const T& value : values) Value(value);
    EndArray();
  }
  void Null();
  /// Text that is a value of JSON as it stands: digits, a document.
  void Raw(std::string_view json);

  void Field(std::string_view key, const auto& value) {
    Key(key);
    Value(value);
  }
  void Null(std::string_view key) {
    Key(key);
    Null();
  }
  /// An object whose members `fields()` writes.
  void Object(std::string_view key, const auto& fields) {
    Key(key);
    BeginObject();
    fields();
    EndObject();
  }
  /// An array of whatever `each(element)` writes.
  void Array(std::string_view key, const auto& elements, const auto& each) {
    Key(key);
    BeginArray();
    for (const auto& element : elements) each(element);
    EndArray();
  }
  void Array(std::string_view key, const auto& elements) {
    Array(key, elements, [this](const auto& element) { this->Value(element); });
  }
  /// An array of objects, whose members `fields(element)` writes.
  void Objects(std::string_view key, const auto& elements, const auto& fields) {
    Array(key, elements, [&](const auto& element) {
      BeginObject();
      fields(element);
      EndObject();
    });
  }

  /// What has been written.
  std::string Text() const;

 private:
  void Flag(bool flag);
  void Integer(std::int64_t number);
  void Unsigned(std::uint64_t number);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qtx::format
