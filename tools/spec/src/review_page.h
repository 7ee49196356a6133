// The page of a review, from tools/spec/review_page/.
#pragma once

#include <string_view>

namespace qtx::spec {

extern const std::string_view kReviewPage;

}  // namespace qtx::spec
