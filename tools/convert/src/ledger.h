// What became of each field, in the order the converter came across it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "qtx/convert/convert.h"

namespace qtx::convert {

class Ledger {
 public:
  void Kept(std::string value, std::string field) {
    Add(std::move(value), std::move(field), LedgerEntry::Fate::kKept, "");
  }
  void Changed(std::string value, std::string field, std::string why) {
    Add(std::move(value), std::move(field), LedgerEntry::Fate::kChanged, std::move(why));
  }
  void Dropped(std::string value, std::string field, std::string why) {
    Add(std::move(value), std::move(field), LedgerEntry::Fate::kDropped, std::move(why));
  }
  std::vector<LedgerEntry> Take() { return std::move(entries_); }

 private:
  void Add(std::string value, std::string field, LedgerEntry::Fate fate, std::string why) {
    entries_.push_back({std::move(value), std::move(field), fate, std::move(why)});
  }
  std::vector<LedgerEntry> entries_;
};

}  // namespace qtx::convert
