"""Drafts of all operators."""
from .contractions import Contractions
from .draft import Draft
from .elements import Elements
from .generators import Generators
from .moves import Moves
from .states import States
from .stock import Stock
from .windows import Windows

FAMILY = {}
for _family, _names in {
        "binary": "Add Sub Mul Div PRelu Pow", "several": "Max Min Sum Mean", "clip": "Clip", "cast": "Cast",
        "unary": "Relu LeakyRelu Sigmoid Tanh HardSwish HardSigmoid Abs Neg Sqrt Exp Gelu Erf Log Softplus Mish "
                 "Reciprocal Elu Floor Ceil Round Sign Sin Cos Softsign Selu Celu ThresholdedRelu Swish Shrink "
                 "Tan Sinh Cosh Asin Acos Atan Asinh Acosh Atanh",
        "mod": "Mod", "running": "CumSum CumProd", "one_hot": "OneHot", "lp_norm": "LpNormalization", "lrn": "LRN",
        "compare": "Equal Greater Less GreaterOrEqual LessOrEqual", "logical": "And Or Xor Not",
        "bits": "BitShift BitwiseAnd BitwiseOr BitwiseXor BitwiseNot", "question": "IsInf IsNaN", "cast_like": "CastLike",
        "filled": "ConstantOfShape", "eye": "EyeLike", "range": "Range", "size": "Size", "non_zero": "NonZero", "compress": "Compress",
        "boxes": "NonMaxSuppression",
        "trilu": "Trilu", "dropout": "Dropout",
        "conv": "Conv", "conv_transpose": "ConvTranspose", "matmul": "MatMul", "gemm": "Gemm",
        "pool": "AveragePool MaxPool LpPool", "global": "GlobalAveragePool GlobalMaxPool",
        "reduce": "ReduceMean ReduceSum ReduceMax ReduceMin ReduceSumSquare ReduceL1 ReduceL2 ReduceProd ReduceLogSum "
                  "ReduceLogSumExp",
        "arg": "ArgMax ArgMin", "rows": "Softmax LogSoftmax Hardmax", "concat": "Concat", "split": "Split", "slice": "Slice",
        "reshape": "Identity Flatten Transpose Reshape Squeeze Unsqueeze", "gather": "Gather", "pad": "Pad",
        "expand": "Expand Tile", "where": "Where", "blocks": "DepthToSpace SpaceToDepth", "resize": "Resize",
        "grid_sample": "GridSample",
        "stock": "QuantizeLinear DequantizeLinear", "qlinear": "QLinearConv QLinearMatMul",
        "norm": "BatchNormalization InstanceNormalization GroupNormalization LayerNormalization RMSNormalization",
        "top_k": "TopK",
        "tuples": "GatherND ScatterND", "elements": "GatherElements ScatterElements", "einsum": "Einsum", "rotary": "RotaryEmbedding",
        "sequences": "ReverseSequence",
        "recurrent": "LSTM GRU", "attention": "Attention", "q_gemm": "QGemm",
        "contrib": "QLinearAdd QLinearMul QLinearSigmoid QLinearLeakyRelu QLinearAveragePool QLinearGlobalAveragePool "
                   "QLinearSoftmax MatMulInteger ConvInteger DynamicQuantizeLinear",
        "q_linear_concat": "QLinearConcat", "constant": "Constant", "dimensions": "Shape"}.items():
    for _name in _names.split():
        FAMILY[_name] = _family
WEIGHTED = list(FAMILY) + ["Add", "Sub", "Mul", "Conv", "Conv", "Conv", "MatMul", "MatMul", "Gemm", "Gemm",
                           "AveragePool", "Cast", "Softmax", "LeakyRelu"]


class Maker(Draft, Contractions, Elements, Generators, Windows, Moves, Stock, States):
    """A draft of a random operator; its make_FAMILY adds inputs and attributes and gives the outputs."""

    def build(self):
        return getattr(self, "make_" + FAMILY[self.op])()
