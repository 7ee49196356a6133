#include "label_places.h"

#include <gtest/gtest.h>

#include <vector>

namespace qtx::bench {
namespace {

bool Overlap(const Box& a, const Box& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

TEST(LabelPlaces, PutsANameToTheRightOfItsPoint) {
  LabelPlaces places({0, 0, 100, 100});
  const auto box = places.Place(50, 50, 20, 10);
  ASSERT_TRUE(box.has_value());
  EXPECT_EQ(box->left, 57);  // 50 + 7
  EXPECT_EQ(box->top, 45);   // centred: 50 - 10 / 2
  EXPECT_EQ(box->right, 77);
  EXPECT_EQ(box->bottom, 55);
}

TEST(LabelPlaces, TurnsLeftAtTheRightEdge) {
  LabelPlaces places({0, 0, 100, 100});
  const auto box = places.Place(90, 50, 20, 10);
  ASSERT_TRUE(box.has_value());
  EXPECT_EQ(box->right, 83);  // 90 - 7
}

TEST(LabelPlaces, KeepsNamesOffEachOtherAndOffWhatIsBlocked) {
  LabelPlaces places({0, 0, 200, 200});
  const Box point{95, 95, 105, 105};
  places.Block(point);
  std::vector<Box> boxes;
  while (const auto box = places.Place(100, 100, 40, 12)) {
    EXPECT_FALSE(Overlap(*box, point));
    for (const Box& other : boxes) EXPECT_FALSE(Overlap(*box, other));
    EXPECT_GE(box->left, 0);
    EXPECT_LE(box->right, 200);
    boxes.push_back(*box);
    ASSERT_LE(boxes.size(), 40U);  // 5 distances by 8 directions
  }
  EXPECT_GE(boxes.size(), 8U);
}

}  // namespace
}  // namespace qtx::bench
