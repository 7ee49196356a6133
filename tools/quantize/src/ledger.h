// The ledger: what became of each field, in order of discovery.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "qtx/quantize/quantize.h"

namespace qtx::quantize {

class Ledger {
 public:
  void Kept(std::string value, std::string field, std::string why = "") {
    entries_.push_back(
        {std::move(value), std::move(field), LedgerEntry::Fate::kKept, std::move(why)});
  }
  void Changed(std::string value, std::string field, std::string why) {
    entries_.push_back(
        {std::move(value), std::move(field), LedgerEntry::Fate::kChanged, std::move(why)});
  }
  void Dropped(std::string value, std::string field, std::string why) {
    entries_.push_back(
        {std::move(value), std::move(field), LedgerEntry::Fate::kDropped, std::move(why)});
  }
  std::vector<LedgerEntry> Take() { return std::move(entries_); }

 private:
  std::vector<LedgerEntry> entries_;
};

}  // namespace qtx::quantize
