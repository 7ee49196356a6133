func.func @main(%a: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = stablehlo.constant dense<[[0.5, -1.0, 2.0, 0.0]]> : tensor<1x4xf32>
  %1 = stablehlo.add %a, %0 : tensor<1x4xf32>
  return %1 : tensor<1x4xf32>
}
