// Slice, Expand, Tile, Gather, GatherND, Split, Where, DepthToSpace, SpaceToDepth and Pad against
// the definition of each, coordinate by coordinate, with random parameters on both sides:
// slice.S1, expand.S1, tile.S1, gather.S1, gather_nd.S1, split.S1, where.S1, depth_to_space.S1,
// space_to_depth.S1, pad.S2.
#include <algorithm>

#include "moving.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kRounds = 60;
using Source = std::function<Dims(const Dims&)>;

// Output 0 of a run on random x of `from` is what `source` says, of shape `dims`.
void ExpectMoved(Random& random, const std::string& op, const std::vector<Attribute>& attributes,
                 const Dims& from, const std::vector<const Tensor*>& rest, const Dims& dims,
                 const Source& source) {
  const Tensor x = random.Tensor8(from, AnyGranularity(random, from));
  const OutputType type = Int8Type(AnyGranularity(random, dims));
  AllRun run{op, attributes, {&x}, {type}};
  run.inputs.insert(run.inputs.end(), rest.begin(), rest.end());
  const auto result = run.Run();
  ASSERT_TRUE(result.has_value()) << op << ": " << run.Error();
  EXPECT_EQ((*result)[0].dims, dims) << op;
  EXPECT_EQ(format::UnpackIntegers((*result)[0]), TextbookMoved(x, type, dims, source)) << op;
}

Dims RandomDims(Random& random, std::int64_t rank, std::int64_t most = 4) {
  Dims dims;
  for (std::int64_t i = 0; i < rank; ++i) dims.push_back(random.In(1, most));
  return dims;
}

// Python's slice by walking all positions: i is taken when it is start + n * step before end.
std::vector<std::int64_t> SlicedPositions(std::int64_t size, std::int64_t start, std::int64_t end,
                                          std::int64_t step) {
  if (start < 0) start += size;
  if (end < 0) end += size;
  std::vector<std::int64_t> taken;
  for (std::int64_t n = 0; n < 30; ++n) {
    // Positions outside the axis on the way are what clamping skips, but only before the first.
    std::int64_t first = start;
    if (step > 0 && first < 0) first = 0;
    if (step < 0 && first > size - 1) first = size - 1;
    const std::int64_t at = first + n * step;
    if (at < 0 || at >= size || (step > 0 ? at >= end : at <= end)) break;
    taken.push_back(at);
  }
  return taken;
}

TEST(Slice, TakesThePositionsThatPythonDoes) {
  Random random(1);
  for (int round = 0; round < 4 * kRounds; ++round) {
    const Dims from = RandomDims(random, 2, 6);
    const std::int64_t start = random.In(-9, 9);
    const std::int64_t end = random.In(-9, 9);
    const std::int64_t step = random.In(1, 4) * (random.In(0, 1) == 0 ? 1 : -1);
    const auto taken = SlicedPositions(from[1], start, end, step);
    if (taken.empty()) continue;
    const Tensor starts = Int64({start});
    const Tensor ends = Int64({end});
    const Tensor axes = Int64({-1});
    const Tensor steps = Int64({step});
    ExpectMoved(random, "Slice", {}, from, {&starts, &ends, &axes, &steps},
                {from[0], static_cast<std::int64_t>(taken.size())}, [&taken](const Dims& at) {
                  return Dims{at[0], taken[static_cast<std::size_t>(at[1])]};
                });
  }
}

TEST(Expand, RepeatsAxesOfSizeOne) {
  Random random(2);
  for (int round = 0; round < kRounds; ++round) {
    const Dims dims = RandomDims(random, 3);
    Dims from(dims.begin() + random.In(0, 2), dims.end());
    for (std::int64_t& size : from) size = random.In(0, 1) == 0 ? 1 : size;
    const Tensor shape = Int64(dims);
    ExpectMoved(random, "Expand", {}, from, {&shape}, dims, [&from](const Dims& at) {
      Dims source;
      for (std::size_t i = 0; i < from.size(); ++i) {
        source.push_back(from[i] == 1 ? 0 : at[3 - from.size() + i]);
      }
      return source;
    });
  }
}

TEST(Tile, RepeatsTheWhole) {
  Random random(3);
  for (int round = 0; round < kRounds; ++round) {
    const Dims from = RandomDims(random, 3, 3);
    const Dims repeats = RandomDims(random, 3, 3);
    const Tensor input = Int64(repeats);
    const Dims dims = {from[0] * repeats[0], from[1] * repeats[1], from[2] * repeats[2]};
    ExpectMoved(random, "Tile", {}, from, {&input}, dims, [&from](const Dims& at) {
      return Dims{at[0] % from[0], at[1] % from[1], at[2] % from[2]};
    });
  }
}

TEST(Gather, PutsTheAxesOfIndicesInPlaceOfItsAxis) {
  Random random(4);
  for (int round = 0; round < kRounds; ++round) {
    const Dims from = RandomDims(random, 3);
    const std::int64_t axis = random.In(0, 2);
    const std::int64_t size = from[static_cast<std::size_t>(axis)];
    const Dims named = RandomDims(random, 2, 3);
    Values values;
    for (std::int64_t i = 0; i < CountOf(named); ++i) values.push_back(random.In(-size, size - 1));
    const Tensor indices = Stored(ElementType::kInt32, named, values);
    Dims dims(from.begin(), from.begin() + axis);
    dims.insert(dims.end(), named.begin(), named.end());
    dims.insert(dims.end(), from.begin() + axis + 1, from.end());
    ExpectMoved(random, "Gather", {Attribute::Int("axis", axis - 3)}, from, {&indices}, dims,
                [&](const Dims& at) {
                  const Dims tuple(at.begin() + axis, at.begin() + axis + 2);
                  const std::int64_t index =
                      values[static_cast<std::size_t>(ElementAt(tuple, named))];
                  Dims source(at.begin(), at.begin() + axis);
                  source.push_back((index + size) % size);
                  source.insert(source.end(), at.begin() + axis + 2, at.end());
                  return source;
                });
  }
}

TEST(GatherNd, GivesTheSliceOfEachTuple) {
  Random random(5);
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t batch = random.In(0, 1);
    const std::int64_t depth = random.In(1, 3 - batch);
    const Dims from = RandomDims(random, 3);
    const Dims outer = {batch == 1 ? from[0] : random.In(1, 3), random.In(1, 3)};
    Values values;
    for (std::int64_t i = 0; i < CountOf(outer) * depth; ++i) {
      const std::int64_t size = from[static_cast<std::size_t>(batch + i % depth)];
      values.push_back(random.In(-size, size - 1));
    }
    const Tensor indices = Stored(ElementType::kInt64, {outer[0], outer[1], depth}, values);
    Dims dims = outer;
    dims.insert(dims.end(), from.begin() + batch + depth, from.end());
    ExpectMoved(random, "GatherND", {Attribute::Int("batch_dims", batch)}, from, {&indices}, dims,
                [&](const Dims& at) {
                  Dims source(at.begin(), at.begin() + batch);
                  const std::int64_t tuple = at[0] * outer[1] + at[1];
                  for (std::int64_t k = 0; k < depth; ++k) {
                    const std::int64_t size = from[source.size()];
                    const std::int64_t index = values[static_cast<std::size_t>(tuple * depth + k)];
                    source.push_back((index + size) % size);
                  }
                  source.insert(source.end(), at.begin() + 2, at.end());
                  return source;
                });
  }
}

TEST(Split, GivesEachPartItsOwnParameters) {
  Random random(6);
  for (int round = 0; round < kRounds; ++round) {
    Dims from = RandomDims(random, 3);
    const auto axis = static_cast<std::size_t>(random.In(0, 2));
    const Dims sizes = RandomDims(random, 3);
    from[axis] = sizes[0] + sizes[1] + sizes[2];
    const Tensor x = random.Tensor8(from, AnyGranularity(random, from));
    const Tensor split = Int64(sizes);
    AllRun run{"Split", {Attribute::Int("axis", static_cast<std::int64_t>(axis))}, {&x, &split}};
    std::vector<Dims> shapes(3, from);
    for (std::size_t i = 0; i < 3; ++i) {
      shapes[i][axis] = sizes[i];
      run.outputs.push_back(Int8Type(AnyGranularity(random, shapes[i])));
    }
    const auto parts = run.Run();
    ASSERT_TRUE(parts.has_value()) << run.Error();
    std::int64_t start = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ((*parts)[i].dims, shapes[i]);
      EXPECT_EQ(format::UnpackIntegers((*parts)[i]),
                TextbookMoved(x, run.outputs[i], shapes[i], [axis, start](Dims at) {
                  at[axis] += start;
                  return at;
                }));
      start += sizes[i];
    }
  }
}

TEST(Split, LeavesOutAnOmittedPart) {
  const Tensor x = Int8({3}, {1, 2, 3}, Q({1.0F}));
  const AllRun run{"Split", {Attribute::Int("num_outputs", 2)},
                   {&x},    {OutputType{}, Int8Type(Q({1.0F}))},
                   "exact", 18};
  const auto parts = run.Run();
  ASSERT_TRUE(parts.has_value()) << run.Error();
  EXPECT_TRUE((*parts)[0].bytes.empty());
  EXPECT_THAT(format::UnpackIntegers((*parts)[1]), ElementsAre(3));
}

TEST(Where, ChoosesAmongTwoTypesIntoAThird) {
  Random random(7);
  for (int round = 0; round < kRounds; ++round) {
    const Dims dims = RandomDims(random, 3);
    const auto shrunk = [&random](Dims shape) {
      for (std::int64_t& size : shape) size = random.In(0, 2) == 0 ? 1 : size;
      return shape;
    };
    const Dims dx = shrunk(dims);
    const Dims dy = shrunk(dims);
    Tensor condition = *format::MakeTensor(ElementType::kBool, dims);
    for (std::byte& byte : condition.bytes) byte = static_cast<std::byte>(random.In(0, 1));
    const Tensor x = random.Tensor8(dx, AnyGranularity(random, dx));
    const Tensor y = random.Tensor8(dy, AnyGranularity(random, dy));
    const OutputType type = Int8Type(AnyGranularity(random, dims));
    const auto result = AllRun{"Where", {}, {&condition, &x, &y}, {type}}.Run();
    ASSERT_TRUE(result.has_value());
    const auto place = [](const Dims& from) {
      return [&from](Dims at) {
        for (std::size_t i = 0; i < at.size(); ++i) at[i] = from[i] == 1 ? 0 : at[i];
        return at;
      };
    };
    const Values of_x = TextbookMoved(x, type, dims, place(dx));
    const Values of_y = TextbookMoved(y, type, dims, place(dy));
    Values expected;
    for (std::size_t i = 0; i < of_x.size(); ++i) {
      expected.push_back(condition.bytes[i] != std::byte{0} ? of_x[i] : of_y[i]);
    }
    EXPECT_EQ(format::UnpackIntegers((*result)[0]), expected);
  }
}

TEST(DepthToSpace, FollowsBothFormulasAndIsUndoneBySpaceToDepth) {
  Random random(8);
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t b = random.In(1, 3);
    const Dims y = {random.In(1, 2), random.In(1, 3), b * random.In(1, 3), b * random.In(1, 3)};
    const std::int64_t depth = y[1];
    const Dims x = {y[0], depth * b * b, y[2] / b, y[3] / b};
    const Attribute size = Attribute::Int("blocksize", b);
    ExpectMoved(random, "DepthToSpace", {size}, x, {}, y, [b, depth](const Dims& at) {
      return Dims{at[0], (at[2] % b * b + at[3] % b) * depth + at[1], at[2] / b, at[3] / b};
    });
    ExpectMoved(random, "DepthToSpace", {size, Attribute::String("mode", "CRD")}, x, {}, y,
                [b](const Dims& at) {
                  return Dims{at[0], (at[1] * b + at[2] % b) * b + at[3] % b, at[2] / b, at[3] / b};
                });
    ExpectMoved(random, "SpaceToDepth", {size}, y, {}, x, [b, depth](const Dims& at) {
      const std::int64_t place = at[1] / depth;
      return Dims{at[0], at[1] % depth, at[2] * b + place / b, at[3] * b + place % b};
    });
  }
}

// Every mode by its infinite extension: what stands at position i of the endless axis.
TEST(Pad, ContinuesTheAxisByEachMode) {
  Random random(9);
  for (int round = 0; round < 4 * kRounds; ++round) {
    const Dims from = {random.In(1, 3), random.In(3, 5)};
    const std::int64_t cut = random.In(0, 2);  // kept: n = size - cut elements, from `cut`
    const std::int64_t n = from[1] - cut;
    const bool reflects = round % 3 == 1;
    const std::int64_t end = random.In(0, reflects ? n - 1 : 7);
    const std::int64_t begin = cut > 0 ? -cut : random.In(0, reflects ? n - 1 : 7);
    const char* const mode = round % 3 == 0 ? "edge" : reflects ? "reflect" : "wrap";
    const Tensor pads = Int64({begin, end});
    const Tensor axes = Int64({-1});
    const Dims dims = {from[0], from[1] + begin + end};
    ExpectMoved(random, "Pad", {Attribute::String("mode", mode)}, from, {&pads, nullptr, &axes},
                dims, [&](const Dims& at) {
                  std::int64_t i = at[1] - std::max<std::int64_t>(begin, 0);
                  if (round % 3 == 0) i = std::clamp<std::int64_t>(i, 0, n - 1);
                  while (reflects && (i < 0 || i >= n)) i = i < 0 ? -i : 2 * (n - 1) - i;
                  while (i < 0) i += n;
                  return Dims{at[0], cut + i % n};
                });
  }
}

TEST(Moving, KeepsTheBitsOfPlainElementsOfEveryWidth) {
  const Tensor indices = Int64({4, 2, 0, 1});
  for (const ElementType type :
       {ElementType::kUint2, ElementType::kInt2, ElementType::kUint4, ElementType::kInt4,
        ElementType::kFloat4E2M1, ElementType::kUint8, ElementType::kInt8, ElementType::kUint16,
        ElementType::kInt16, ElementType::kUint32, ElementType::kInt32, ElementType::kUint64,
        ElementType::kInt64, ElementType::kBool, ElementType::kFloat16, ElementType::kBfloat16,
        ElementType::kFloat, ElementType::kDouble, ElementType::kFloat8E5M2}) {
    const int width = format::BitWidth(type);
    Tensor x = *format::MakeTensor(type, {5});
    // Element i has the bits of i % 4 in its lowest two.
    const auto bits = [width](const Tensor& tensor, std::int64_t i) {
      const auto byte = static_cast<std::size_t>(i * width / 8);
      return std::to_integer<int>(tensor.bytes[byte] >> (i * width % 8)) & 3;
    };
    for (std::int64_t i = 0; i < 5; ++i) {
      const auto byte = static_cast<std::size_t>(i * width / 8);
      x.bytes[byte] |= static_cast<std::byte>(i % 4) << (i * width % 8);
    }
    const auto result =
        AllRun{"Gather", {}, {&x, &indices}, {OutputType{type, std::nullopt}}}.Run();
    ASSERT_TRUE(result.has_value()) << format::Name(type);
    std::vector<int> moved;
    for (std::int64_t i = 0; i < 4; ++i) moved.push_back(bits((*result)[0], i));
    EXPECT_THAT(moved, ElementsAre(0, 2, 0, 1)) << format::Name(type);
  }
}

TEST(Moving, RefusesTypesThatQtxDoesNotHave) {
  Tensor x;
  x.elem_type = ElementType::kComplex64;
  x.dims = {1};
  x.bytes.resize(8);
  const Tensor repeats = Int64({2});
  const AllRun run{"Tile", {}, {&x, &repeats}, {OutputType{ElementType::kComplex64, std::nullopt}}};
  EXPECT_THAT(run.Error(), HasSubstr("COMPLEX64"));
  EXPECT_THAT(run.Error(), HasSubstr("[tile.C1]"));
  x.elem_type = ElementType::kString;
  x.bytes.clear();
  EXPECT_THAT(run.Error(), HasSubstr("STRING"));
}

TEST(Moving, RefusesAbsurdSizesBeforeAllocating) {
  const Tensor x = Int8({2}, {1, 2}, Q({1.0F}));
  const Tensor huge = Int64({std::int64_t{1} << 62});
  const Tensor wide = Int64({std::int64_t{1} << 35, 1});
  const OutputType type = Int8Type(Q({1.0F}));
  for (const auto& [op, input] : {std::pair{"Tile", &huge}, {"Expand", &wide}}) {
    const AllRun run{op, {}, {&x, input}, {type}};
    EXPECT_EQ(run.Run().error().code, ErrorCode::kTooLarge) << op;
    EXPECT_THAT(run.Error(), HasSubstr("output[0]")) << op;
  }
  const Tensor nothing = *format::MakeTensor(ElementType::kInt64, {std::int64_t{1} << 32, 0});
  const Tensor none = Int64({});
  const AllRun gather{"Gather",
                      {Attribute::Int("axis", 1)},
                      {&nothing, &none},
                      {OutputType{ElementType::kInt64, std::nullopt}}};
  EXPECT_EQ(gather.Error(), "");  // 2^32 rows of nothing, at once
}

}  // namespace
}  // namespace qtx::reference::testing
