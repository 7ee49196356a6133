#include "rules.h"
namespace qtx::format::catalogue {
[[gnu::weak]] void AddWindows(std::vector<OpSchema>&) {}
[[gnu::weak]] void AddMovement(std::vector<OpSchema>&) {}
[[gnu::weak]] void AddReductions(std::vector<OpSchema>&) {}
[[gnu::weak]] void AddMatrices(std::vector<OpSchema>&) {}
[[gnu::weak]] void AddNormalizations(std::vector<OpSchema>&) {}
[[gnu::weak]] void AddQuantized(std::vector<OpSchema>&) {}
[[gnu::weak]] void AddRecurrent(std::vector<OpSchema>&) {}
}  // namespace qtx::format::catalogue
