// The tables of shapes.
#include "qtx/bench/shapes.h"

namespace qtx::bench {
namespace {

using format::ElementType;

constexpr Types kQuantizedTypes[] = {
    {"u8u8", ElementType::kUint8Q, ElementType::kUint8Q, false},
    {"u8s8", ElementType::kUint8Q, ElementType::kInt8Q, false},
    {"s8s8", ElementType::kInt8Q, ElementType::kInt8Q, false},
    {"u8s8c", ElementType::kUint8Q, ElementType::kInt8Q, true},
    {"s8s8c", ElementType::kInt8Q, ElementType::kInt8Q, true},
};

constexpr ProductShape kProductShapes[] = {
    {"gemm/64x64x64", 1, 64, 64, 64, false},
    {"gemm/128x128x128", 1, 128, 128, 128, false},
    {"gemm/256x256x256", 1, 256, 256, 256, false},
    {"gemm/384x384x384", 1, 384, 384, 384, false},
    {"gemm/512x512x512", 1, 512, 512, 512, false},
    {"gemm/768x768x768", 1, 768, 768, 768, false},
    {"gemm/1024x1024x1024", 1, 1024, 1024, 1024, false},
    {"gemm/1x1024x1024", 1, 1, 1024, 1024, false},
    {"gemm/2x1024x1024", 1, 2, 1024, 1024, false},
    {"gemm/4x1024x1024", 1, 4, 1024, 1024, false},
    {"gemm/8x1024x1024", 1, 8, 1024, 1024, false},
    {"gemm/16x1024x1024", 1, 16, 1024, 1024, false},
    {"gemm/1x4096x4096", 1, 1, 4096, 4096, false},
    {"gemm/2x4096x4096", 1, 2, 4096, 4096, false},
    {"gemm/4x4096x4096", 1, 4, 4096, 4096, false},
    {"gemm/8x4096x4096", 1, 8, 4096, 4096, false},
    {"gemm/16x4096x4096", 1, 16, 4096, 4096, false},
    {"bert/projection", 1, 128, 768, 768, false},
    {"bert/scores", 12, 128, 64, 128, true},
    {"bert/context", 12, 128, 128, 64, true},
    {"bert/expand", 1, 128, 768, 3072, false},
    {"bert/contract", 1, 128, 3072, 768, false},
};

// channels, outputs, size, kernel, stride, depthwise, count
constexpr ConvShape kMobileNetV1[] = {
    {3, 32, 224, 3, 2, false, 1},    {32, 32, 112, 3, 1, true, 1},   {32, 64, 112, 1, 1, false, 1},
    {64, 64, 112, 3, 2, true, 1},    {64, 128, 56, 1, 1, false, 1},  {128, 128, 56, 3, 1, true, 1},
    {128, 128, 56, 1, 1, false, 1},  {128, 128, 56, 3, 2, true, 1},  {128, 256, 28, 1, 1, false, 1},
    {256, 256, 28, 3, 1, true, 1},   {256, 256, 28, 1, 1, false, 1}, {256, 256, 28, 3, 2, true, 1},
    {256, 512, 14, 1, 1, false, 1},  {512, 512, 14, 3, 1, true, 5},  {512, 512, 14, 1, 1, false, 5},
    {512, 512, 14, 3, 2, true, 1},   {512, 1024, 7, 1, 1, false, 1}, {1024, 1024, 7, 3, 1, true, 1},
    {1024, 1024, 7, 1, 1, false, 1},
};
constexpr ConvShape kMobileNetV2[] = {
    {3, 32, 224, 3, 2, false, 1},  {32, 32, 112, 3, 1, true, 1},  {32, 16, 112, 1, 1, false, 1},
    {16, 96, 112, 1, 1, false, 1}, {96, 96, 112, 3, 2, true, 1},  {96, 24, 56, 1, 1, false, 1},
    {24, 144, 56, 1, 1, false, 2}, {144, 144, 56, 3, 1, true, 1}, {144, 24, 56, 1, 1, false, 1},
    {144, 144, 56, 3, 2, true, 1}, {144, 32, 28, 1, 1, false, 1}, {32, 192, 28, 1, 1, false, 3},
    {192, 192, 28, 3, 1, true, 2}, {192, 32, 28, 1, 1, false, 2}, {192, 192, 28, 3, 2, true, 1},
    {192, 64, 14, 1, 1, false, 1}, {64, 384, 14, 1, 1, false, 4}, {384, 384, 14, 3, 1, true, 4},
    {384, 64, 14, 1, 1, false, 3}, {384, 96, 14, 1, 1, false, 1}, {96, 576, 14, 1, 1, false, 3},
    {576, 576, 14, 3, 1, true, 2}, {576, 96, 14, 1, 1, false, 2}, {576, 576, 14, 3, 2, true, 1},
    {576, 160, 7, 1, 1, false, 1}, {160, 960, 7, 1, 1, false, 3}, {960, 960, 7, 3, 1, true, 3},
    {960, 160, 7, 1, 1, false, 2}, {960, 320, 7, 1, 1, false, 1}, {320, 1280, 7, 1, 1, false, 1},
};
constexpr ConvShape kResNet50[] = {
    {3, 64, 224, 7, 2, false, 1},     {64, 64, 56, 1, 1, false, 1},
    {64, 64, 56, 3, 1, false, 3},     {64, 256, 56, 1, 1, false, 4},
    {256, 64, 56, 1, 1, false, 2},    {256, 128, 56, 1, 1, false, 1},
    {128, 128, 56, 3, 2, false, 1},   {128, 512, 28, 1, 1, false, 4},
    {256, 512, 56, 1, 2, false, 1},   {512, 128, 28, 1, 1, false, 3},
    {128, 128, 28, 3, 1, false, 3},   {512, 256, 28, 1, 1, false, 1},
    {256, 256, 28, 3, 2, false, 1},   {256, 1024, 14, 1, 1, false, 6},
    {512, 1024, 28, 1, 2, false, 1},  {1024, 256, 14, 1, 1, false, 5},
    {256, 256, 14, 3, 1, false, 5},   {1024, 512, 14, 1, 1, false, 1},
    {512, 512, 14, 3, 2, false, 1},   {512, 2048, 7, 1, 1, false, 3},
    {1024, 2048, 14, 1, 2, false, 1}, {2048, 512, 7, 1, 1, false, 2},
    {512, 512, 7, 3, 1, false, 2},
};
constexpr ConvTable kConvTables[] = {
    {"mobilenet_v1", kMobileNetV1}, {"mobilenet_v2", kMobileNetV2}, {"resnet50", kResNet50}};

constexpr SeparableBlock kMobileNetV1Blocks[] = {{64, 1},  {128, 2},  {128, 1}, {256, 2}, {256, 1},
                                                 {512, 2}, {512, 1},  {512, 1}, {512, 1}, {512, 1},
                                                 {512, 1}, {1024, 2}, {1024, 1}};
constexpr BottleneckStage kResNet50Stages[] = {{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}};

}  // namespace

std::span<const Types> QuantizedTypes() { return kQuantizedTypes; }
std::span<const ProductShape> ProductShapes() { return kProductShapes; }
std::span<const ConvTable> ConvTables() { return kConvTables; }
std::span<const SeparableBlock> MobileNetV1Blocks() { return kMobileNetV1Blocks; }
std::span<const BottleneckStage> ResNet50Stages() { return kResNet50Stages; }

}  // namespace qtx::bench
