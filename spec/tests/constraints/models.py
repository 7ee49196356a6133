"""The models of constraints.py, which says how they are written. Made from the text of spec/ alone."""
from node import Op

def same_shape(o, n, src='x'):
    o.C(n, 'y is declared with the same number of elements in another shape', '%s:q[2,3] -> y:q[3,2]' % src, '%s:q[2,3] -> y:q[2,3]' % src)
    o.C(n, 'y is declared with an axis of size 1 more than %s has' % src, '%s:q[2,3] -> y:q[1,2,3]' % src, '%s:q[2,3] -> y:q[2,3]' % src)

def unary(stem, type, opset=None, plain=False):
    """C1 the types, C2 the shape"""
    o = Op(stem, type, opset)
    o.C(1, 'a BOOL output is no real operand', 'x:q[3] -> y:b[3]', 'x:q[3] -> y:f[3]')
    if plain:
        o.C(1, 'plain types of x and y differ in the sign', 'x:i8[3] -> y:u8[3]', 'x:i8[3] -> y:i8[3]')
        o.C(1, 'x is the plain INT8 and y the quantized type over it', 'x:i8[3] -> y:q[3]', 'x:q[3] -> y:q[3]')
    else:
        o.C(1, 'plain integers are not computed with here, though both types are one', 'x:i32[3] -> y:i32[3]', 'x:d[3] -> y:d[3]')
        o.C(1, 'x is DOUBLE and y FLOAT: all or none are DOUBLE', 'x:d[3] -> y:f[3]', 'x:f[3] -> y:f[3]')
    same_shape(o, 2)
    return o

def comparison(stem, type, opset=None):
    """C1 the operands, C2 the result, C3 and C4 the shapes"""
    o = Op(stem, type, opset)
    o.C(1, 'b is the plain INT8 beside a quantized a', 'a:q[2] b:i8[2] -> y:b[2]', 'a:q[2] b:q[2] -> y:b[2]')
    o.C(1, 'plain operands of one width, but for the sign', 'a:i8[2] b:u8[2] -> y:b[2]', 'a:i8[2] b:i8[2] -> y:b[2]')
    o.C(1, 'a is DOUBLE, no real operand, b FLOAT', 'a:d[2] b:f[2] -> y:b[2]', 'a:h[2] b:f[2] -> y:b[2]')
    o.C(1, 'a is BOOL, b the UINT8 that holds as many bits', 'a:b[2] b:u8[2] -> y:b[2]', 'a:u8[2] b:u8[2] -> y:b[2]')
    o.C(2, 'the result has the type of the operands', 'a:f[2] b:f[2] -> y:f[2]', 'a:f[2] b:f[2] -> y:b[2]')
    o.C(2, 'the result is UINT8, of zeros and ones', 'a:u8[2] b:u8[2] -> y:u8[2]', 'a:u8[2] b:u8[2] -> y:b[2]')
    o.C(3, 'axes are aligned at the last: 3 and 2', 'a:q[2,3] b:q[2] -> y:b', 'a:q[2,3] b:q[2,1] -> y:b')
    o.C(3, 'an empty axis and one of size 2: 0 is not 1', 'a:q[0] b:q[2] -> y:b', 'a:q[0] b:q[1] -> y:b')
    o.C(4, 'y is declared with the shape of a, which b enlarges', 'a:q[2,1] b:q[1,3] -> y:b[2,1]', 'a:q[2,1] b:q[1,3] -> y:b[2,3]')
    return o

def logical(stem, type):
    o = Op(stem, type)
    o.C(1, 'b is UINT8, of zeros and ones', 'a:b[2] b:u8[2] -> y:b[2]', 'a:b[2] b:b[2] -> y:b[2]')
    o.C(1, 'y is UINT8', 'a:b[2] b:b[2] -> y:u8[2]', 'a:b[2] b:b[2] -> y:b[2]')
    o.C(2, 'axes are aligned at the last: 3 and 2', 'a:b[2,3] b:b[2] -> y:b', 'a:b[2,3] b:b[2,1] -> y:b')
    o.C(3, 'y is declared with the shape of a, which b enlarges', 'a:b[2,1] b:b[1,3] -> y:b[2,1]', 'a:b[2,1] b:b[1,3] -> y:b[2,3]')

def alpha(o, n, name='alpha'):
    o.C(n, name + ' is an infinity', 'x:q[3] -> y:q[3]', A={name: 'inf'}, G={name: 0.5})
    o.C(n, name + ' is NaN', 'x:q[3] -> y:q[3]', A={name: 'nan'}, G={name: 0.5})

def binary(stem, type, opset=None, c4=False):
    o = Op(stem, type, opset)
    o.C(1, 'the output is BOOL, which is no real operand', 'a:q[2] b:q[2] -> y:b[2]', 'a:q[2] b:q[2] -> y:f[2]')
    o.C(1, 'b is the plain INT8 beside quantized values', 'a:q[2] b:i8[2] -> y:q[2]', 'a:q[2] b:q[2] -> y:q[2]')
    o.C(1, 'three plain types of which one is wider', 'a:i16[2] b:i8[2] -> y:i16[2]', 'a:i16[2] b:i16[2] -> y:i16[2]')
    o.C(2, 'b has as many elements as the first axis of a, but axes are aligned at the last', 'a:q[2,3] b:q[2] -> y:q', 'a:q[2,3] b:q[2,1] -> y:q')
    o.C(2, 'an empty axis and one of size 2: 0 is not 1', 'a:q[0] b:q[2] -> y:q', 'a:q[0] b:q[1] -> y:q')
    o.C(3, 'y is declared with the shape of a, which b enlarges', 'a:q[2,1] b:q[1,3] -> y:q[2,1]', 'a:q[2,1] b:q[1,3] -> y:q[2,3]')
    return o

# ---- element-wise of one operand
unary('abs', 'Abs', plain=True)
unary('neg', 'Neg', plain=True)
unary('relu', 'Relu', plain=True)
unary('sign', 'Sign', plain=True)
for s, t, ops in [('floor', 'Floor', None), ('ceil', 'Ceil', None), ('round', 'Round', None), ('erf', 'Erf', None), ('exp', 'Exp', None), ('hard_swish', 'HardSwish', None), ('log', 'Log', None),
                  ('mish', 'Mish', 18), ('reciprocal', 'Reciprocal', None), ('sigmoid', 'Sigmoid', None),
                  ('softplus', 'Softplus', None), ('sqrt', 'Sqrt', None), ('tanh', 'Tanh', None),
                  ('sin', 'Sin', None), ('cos', 'Cos', None), ('tan', 'Tan', None), ('sinh', 'Sinh', None), ('cosh', 'Cosh', None),
                  ('asin', 'Asin', None), ('acos', 'Acos', None), ('atan', 'Atan', None), ('asinh', 'Asinh', None),
                  ('acosh', 'Acosh', None), ('atanh', 'Atanh', None), ('softsign', 'Softsign', None)]:
    unary(s, t, ops)
alpha(unary('elu', 'Elu'), 3)
alpha(unary('leaky_relu', 'LeakyRelu'), 3)
o = unary('hard_sigmoid', 'HardSigmoid')
alpha(o, 3, 'beta'); alpha(o, 3, 'alpha')
o = unary('selu', 'Selu')
alpha(o, 3, 'gamma'); alpha(o, 3)
o = unary('celu', 'Celu')
alpha(o, 3)
o.C(3, 'alpha is 0, and x over it has no value', 'x:q[3] -> y:q[3]', A={'alpha': 0.0}, G={'alpha': 0.25})
o.C(3, 'alpha is negative', 'x:q[3] -> y:q[3]', A={'alpha': -0.5}, G={'alpha': 0.5})
alpha(unary('thresholded_relu', 'ThresholdedRelu'), 3)
alpha(unary('swish', 'Swish', 24), 3)
o = unary('shrink', 'Shrink')
alpha(o, 3, 'lambd'); alpha(o, 3, 'bias')
o = unary('gelu', 'Gelu', 20)
o.C(3, 'approximate is a name of another case', 'x:q[3] -> y:q[3]', A={'approximate': 'Tanh'}, G={'approximate': 'tanh'})
o.C(3, 'approximate is another approximation', 'x:q[3] -> y:q[3]', A={'approximate': 'sigmoid'}, G={'approximate': 'none'})

# ---- two and more operands
for s, t in [('add', 'Add'), ('sub', 'Sub'), ('mul', 'Mul')]: binary(s, t)
o = binary('div', 'Div')
o.C(4, 'the second divisor of plain integers is 0', 'a:i32[2]=6,7 b:i32[2]=2,0 -> y:i32[2]', 'a:i32[2]=6,7 b:i32[2]=2,1 -> y:i32[2]', run='b')
o.C(4, 'a 0 among plain divisors; the same stored value of a quantized b is a real 0, which may be', 'a:i8[2] b:i8[2]=3,0 -> y:i8[2]',
    'a:q[2] b:q[2]=3,0@offset=null -> y:q[2]')

def variadic(s, t, plain):
    o = Op(s, t)
    o.C(1, 'the output is BOOL, which is no real operand', 'a:q[2] b:h[2] -> y:b[2]', 'a:q[2] b:h[2] -> y:f[2]')
    if plain:
        o.C(1, 'the third input is quantized, all others are the plain INT8', 'a:i8[2] b:i8[2] c:q[2] -> y:i8[2]', 'a:i8[2] b:i8[2] c:i8[2] -> y:i8[2]')
    else:
        o.C(1, 'plain integers, all of one type, are not computed with here', 'a:i32[2] b:i32[2] -> y:i32[2]', 'a:d[2] b:d[2] -> y:d[2]')
        o.C(1, 'the third input alone is DOUBLE', 'a:f[2] b:f[2] c:d[2] -> y:f[2]', 'a:f[2] b:f[2] c:f[2] -> y:f[2]')
    o.C(2, 'the third input fits the first and not what the first two give', 'a:q[2,1] b:q[1,3] c:q[2,2] -> y:q', 'a:q[2,1] b:q[1,3] c:q[2,3] -> y:q')
    o.C(2, 'an empty axis and one of size 2', 'a:q[0] b:q[2] -> y:q', 'a:q[0] b:q[1] -> y:q')
    o.C(3, 'y has the shape of the first input, which the third enlarges', 'a:q[3] b:q[1] c:q[2,1] -> y:q[3]', 'a:q[3] b:q[1] c:q[2,1] -> y:q[2,3]')
variadic('max', 'Max', True); variadic('min', 'Min', True); variadic('mean', 'Mean', False); variadic('sum', 'Sum', False)

o = Op('p_relu', 'PRelu')
o.C(1, 'slope is the plain INT8 beside quantized x and y', 'x:q[2,3] slope:i8[3] -> y:q[2,3]', 'x:q[2,3] slope:q[3] -> y:q[2,3]')
o.C(1, 'the output is BOOL, which is no real operand', 'x:q[2,3] slope:h[3] -> y:b[2,3]', 'x:q[2,3] slope:h[3] -> y:f[2,3]')
o.C(2, 'slope broadcasts with x but enlarges it', 'x:q[1,3] slope:q[2,3] -> y:q', 'x:q[1,3] slope:q[1,3] -> y:q')
o.C(2, 'a slope for each channel stands at the last axis', 'x:q[2,3] slope:q[2] -> y:q', 'x:q[2,3] slope:q[2,1] -> y:q')
o.C(3, 'y is declared without the axis of size 1 of x', 'x:q[1,3] slope:q[3] -> y:q[3]', 'x:q[1,3] slope:q[3] -> y:q[1,3]')

o = Op('pow', 'Pow')
o.C(1, 'x is plain and z real, though y may be anything', 'x:i32[2] y:f[2] -> z:f[2]', 'x:i32[2] y:f[2] -> z:i32[2]')
o.C(1, 'the output is BOOL, which is no real operand', 'x:q[2] y:q[2] -> z:b[2]', 'x:q[2] y:q[2] -> z:f[2]')
o.C(2, 'axes are aligned at the last: 3 and 2', 'x:q[2,3] y:i32[2] -> z:q', 'x:q[2,3] y:i32[2,1] -> z:q')
o.C(3, 'z is declared with the shape of x, which y enlarges', 'x:q[2,1] y:q[1,3] -> z:q[2,1]', 'x:q[2,1] y:q[1,3] -> z:q[2,3]')

o = binary('mod', 'Mod', 28)
o.C(4, 'the second divisor of plain integers is 0', 'a:i32[2]=6,7 b:i32[2]=2,0 -> y:i32[2]', 'a:i32[2]=6,7 b:i32[2]=2,1 -> y:i32[2]', run='b')
o.C(5, 'fmod is -1', 'a:i32[2] b:i32[2] -> y:i32[2]', A={'fmod': -1}, G={'fmod': 1}, opset=13)
o.C(5, 'fmod is left to its default before opset 28, of quantized values', 'a:q[2] b:q[2] -> y:q[2]', opset=27, gopset=28)
o.C(5, 'fmod is 0 before opset 28, of DOUBLE', 'a:d[2] b:d[2] -> y:d[2]', A={'fmod': 0}, G={'fmod': 1}, opset=13)

for s, t, since in [('cum_prod', 'CumProd', 26), ('cum_sum', 'CumSum', None)]:
    o = Op(s, t, since)
    o.C(1, 'x is the plain INT8 and y the quantized type over it', 'x:i8[3] axis:i64[]=0 -> y:q[3]', 'x:q[3] axis:i64[]=0 -> y:q[3]')
    o.C(1, 'plain types of x and y differ in width', 'x:i32[3] axis:i64[]=0 -> y:i64[3]', 'x:i64[3] axis:i64[]=0 -> y:i64[3]')
    o.C(2, 'axis is INT16', 'x:q[3] axis:i16[]=0 -> y:q[3]', 'x:q[3] axis:i32[]=0 -> y:q[3]')
    o.C(2, 'axis has rank 2', 'x:q[3] axis:i64[1,1]=0 -> y:q[3]', 'x:q[3] axis:i64[1]=0 -> y:q[3]')
    o.C(2, 'axis is the rank', 'x:q[3] axis:i64[]=1 -> y:q[3]', 'x:q[3] axis:i64[]=-1 -> y:q[3]', run='axis')
    o.C(2, 'x has no axis', 'x:q[] axis:i64[]=0 -> y:q[]', 'x:q[1] axis:i64[]=0 -> y:q[1]')
    o.C(3, 'exclusive is 2', 'x:q[3] axis:i64[]=0 -> y:q[3]', A={'exclusive': 2}, G={'exclusive': 1})
    o.C(3, 'reverse is -1', 'x:q[3] axis:i64[]=0 -> y:q[3]', A={'reverse': -1}, G={'reverse': 1})
    o.C(4, 'y is declared with the axes of x exchanged', 'x:q[2,3] axis:i64[]=0 -> y:q[3,2]', 'x:q[2,3] axis:i64[]=0 -> y:q[2,3]')

def bits(stem, type, opset, A=None):
    """C1 the types, C2 and C3 the shapes"""
    o = Op(stem, type, opset)
    o.C(1, 'a and b are quantized over one integer type', 'a:q[2] b:q[2] -> y:q[2]', 'a:u8[2] b:u8[2] -> y:u8[2]', A=A)
    o.C(1, 'DOUBLE is plain, and no integer', 'a:d[2] b:d[2] -> y:d[2]', 'a:u64[2] b:u64[2] -> y:u64[2]', A=A)
    o.C(1, 'BOOL is one bit, and no integer', 'a:b[2] b:b[2] -> y:b[2]', 'a:u8[2] b:u8[2] -> y:u8[2]', A=A)
    o.C(1, 'b is wider than a', 'a:u8[2] b:u16[2] -> y:u8[2]', 'a:u16[2] b:u16[2] -> y:u16[2]', A=A)
    o.C(1, 'y has the other sign', 'a:u8[2] b:u8[2] -> y:i8[2]', 'a:u8[2] b:u8[2] -> y:u8[2]', A=A)
    o.C(2, 'axes are aligned at the last: 3 and 2', 'a:u8[2,3] b:u8[2] -> y:u8', 'a:u8[2,3] b:u8[2,1] -> y:u8', A=A)
    o.C(3, 'y is declared with the shape of a, which b enlarges', 'a:u8[2,1] b:u8[1,3] -> y:u8[2,1]', 'a:u8[2,1] b:u8[1,3] -> y:u8[2,3]', A=A)
    return o

o = bits('bit_shift', 'BitShift', None, {'direction': 'LEFT'})
o.C(4, 'direction is up', 'a:u8[2] b:u8[2] -> y:u8[2]', A={'direction': 'UP'}, G={'direction': 'RIGHT'})
bits('bitwise_and', 'BitwiseAnd', 18)
bits('bitwise_or', 'BitwiseOr', 18)
bits('bitwise_xor', 'BitwiseXor', 18)

o = Op('bitwise_not', 'BitwiseNot', 18)
o.C(1, 'x is quantized', 'x:q[3] -> y:q[3]', 'x:i8[3] -> y:i8[3]')
o.C(1, 'DOUBLE is plain, and no integer', 'x:d[3] -> y:d[3]', 'x:i64[3] -> y:i64[3]')
o.C(1, 'y has the other sign', 'x:i8[3] -> y:u8[3]', 'x:u8[3] -> y:u8[3]')
o.C(2, 'y is declared with the axes of x exchanged', 'x:i8[2,3] -> y:i8[3,2]', 'x:i8[2,3] -> y:i8[2,3]')

def question(stem, type):
    """C1 the operand, C2 the result, C3 the shape"""
    o = Op(stem, type)
    o.C(1, 'x is a plain integer', 'x:i32[3] -> y:b[3]', 'x:q[3] -> y:b[3]')
    o.C(1, 'x is BOOL', 'x:b[3] -> y:b[3]', 'x:d[3] -> y:b[3]')
    o.C(2, 'y is INT8', 'x:f[3] -> y:i8[3]', 'x:f[3] -> y:b[3]')
    o.C(2, 'y has the type of x', 'x:f[3] -> y:f[3]', 'x:f[3] -> y:b[3]')
    o.C(3, 'y is declared with the axes of x exchanged', 'x:f[2,3] -> y:b[3,2]', 'x:f[2,3] -> y:b[2,3]')
    return o

question('is_na_n', 'IsNaN')
o = question('is_inf', 'IsInf')
o.C(4, 'detect_negative is -1', 'x:f[3] -> y:b[3]', A={'detect_negative': -1}, G={'detect_negative': 0})
o.C(4, 'detect_positive is 2', 'x:f[3] -> y:b[3]', A={'detect_positive': 2}, G={'detect_positive': 1})

o = Op('cast_like', 'CastLike')
o.C(1, 'like is COMPLEX64', 'x:f[2] *like:c64[0] -> y:c64[2]', 'x:f[2] like:d[1] -> y:d[2]')
o.C(2, 'y has the plain type under that of like', 'x:f[3] like:q[1] -> y:i8[3]', 'x:f[3] like:q[1] -> y:q[3]')
o.C(2, 'y has the type of x', 'x:f[3] like:i32[1] -> y:f[3]', 'x:f[3] like:i32[1] -> y:i32[3]')
o.C(3, 'y is declared with the shape of like', 'x:f[3] like:i32[2] -> y:i32[2]', 'x:f[3] like:i32[2] -> y:i32[3]')
o.C(4, 'saturate is 2', 'x:f[3] like:f8[1] -> y:f8[3]', A={'saturate': 2}, G={'saturate': 0}, opset=19)
o.C(4, 'a scaled small float does not saturate', 'x:f[3] like:f8q[1] -> y:f8q[3]', A={'saturate': 0}, G={'saturate': 1}, opset=19)
o.C(4, 'round_mode is even', 'x:f[3] like:e8m0[1] -> y:e8m0[3]', A={'round_mode': 'even'}, G={'round_mode': 'nearest'}, opset=24)

def tensor(kind, data, dims=(1,)):
    return {'type': kind, 'shape': list(dims), 'data': data}

o = Op('constant_of_shape', 'ConstantOfShape')
o.C(1, 'value has two elements', 'sizes:i64[1]=2 -> y:f', A={'value': tensor('float', [1.0, 2.0], [2])}, G={'value': tensor('float', [1.0], [1, 1])})
o.C(1, 'value has no element', 'sizes:i64[1]=2 -> y:f', A={'value': tensor('float', [], [0])}, G={'value': tensor('float', [1.0], [])})
o.C(2, 'y is DOUBLE, value FLOAT', 'sizes:i64[1]=2 -> y:d', 'sizes:i64[1]=2 -> y:f', A={'value': tensor('float', [1.0])})
o.C(2, 'without value y is FLOAT', 'sizes:i64[1]=2 -> y:i32', 'sizes:i64[1]=2 -> y:f')
o.C(2, 'y is quantized over another storage', 'sizes:i64[1]=2 -> y:uq', 'sizes:i64[1]=2 -> y:q', A={'value': tensor('int8', [1])})
o.C(3, 'the second size is -1', 'sizes:i64[2]=2,-1 -> y:f', 'sizes:i64[2]=2,0 -> y:f', run='sizes')
o.C(3, 'sizes is INT32', 'sizes:i32[1]=2 -> y:f', 'sizes:i64[1]=2 -> y:f')
o.C(3, 'sizes has rank 2', 'sizes:i64[1,1]=2 -> y:f', 'sizes:i64[1]=2 -> y:f')
o.C(4, 'y is declared with the sizes exchanged', 'sizes:i64[2]=2,3 -> y:f[3,2]', 'sizes:i64[2]=2,3 -> y:f[2,3]')

o = Op('dropout', 'Dropout')
o.C(1, 'x is DOUBLE and y FLOAT', 'x:d[3] -> y:f[3]', 'x:q[3] -> y:f[3]')
o.C(2, 'mask is UINT8', 'x:f[3] -> y:f[3] mask:u8[3]', 'x:f[3] -> y:f[3] mask:b[3]')
o.C(2, 'ratio has rank 2', 'x:f[3] ratio:f[1,1] -> y:f[3]', 'x:f[3] ratio:f[1] -> y:f[3]')
o.C(2, 'training_mode has two elements', 'x:f[3] ratio:f[] training_mode:b[2]=0,0 -> y:f[3]', 'x:f[3] ratio:f[] training_mode:b[]=0 -> y:f[3]')
o.C(4, 'training, which the text does not define', 'x:f[3] ratio:f[] training_mode:b[]=1 -> y:f[3]', 'x:f[3] ratio:f[] training_mode:b[]=0 -> y:f[3]')
o.C(3, 'y is declared with the axes of x exchanged', 'x:f[2,3] -> y:f[3,2]', 'x:f[2,3] -> y:f[2,3]')
o.C(3, 'mask is declared with the axes of x exchanged', 'x:f[2,3] -> y:f[2,3] mask:b[3,2]', 'x:f[2,3] -> y:f[2,3] mask:b[2,3]')

o = Op('eye_like', 'EyeLike')
o.C(1, 'y is INT32, dtype INT64', 'x:f[2,2] -> y:i32[2,2]', 'x:f[2,2] -> y:i64[2,2]', A={'dtype': 7})
o.C(1, 'x is a plain integer, y FLOAT', 'x:i32[2,2] -> y:f[2,2]', 'x:q[2,2] -> y:f[2,2]')
o.C(1, 'y is a FLOAT8, which holds no sum', 'x:f[2,2] -> y:f8[2,2]', 'x:f[2,2] -> y:f[2,2]')
o.C(2, 'x has rank 1', 'x:f[4] -> y:f', 'x:f[4,1] -> y:f')
o.C(2, 'x has rank 3', 'x:f[1,2,2] -> y:f', 'x:f[2,2] -> y:f')
o.C(3, 'y is declared with the axes of x exchanged', 'x:f[2,3] -> y:f[3,2]', 'x:f[2,3] -> y:f[2,3]')

o = Op('range', 'Range')
o.C(1, 'limit is INT64, start INT32', 'start:i32[]=0 limit:i64[]=3 delta:i32[]=1 -> y:i32', 'start:i32[]=0 limit:i32[]=3 delta:i32[]=1 -> y:i32')
o.C(1, 'all are quantized', 'start:q[]=0 limit:q[]=3 delta:q[]=2 -> y:q', 'start:f[]=0 limit:f[]=3 delta:f[]=1 -> y:q')
o.C(2, 'y is FLOAT, start INT32', 'start:i32[]=0 limit:i32[]=3 delta:i32[]=1 -> y:f', 'start:f[]=0 limit:f[]=3 delta:f[]=1 -> y:f')
o.C(3, 'delta is 0', 'start:i32[]=0 limit:i32[]=3 delta:i32[]=0 -> y:i32', 'start:i32[]=0 limit:i32[]=3 delta:i32[]=-1 -> y:i32', run='delta')
o.C(3, 'limit is infinite', 'start:f[]=0 limit:f[]=inf delta:f[]=1 -> y:f', 'start:f[]=0 limit:f[]=2 delta:f[]=1 -> y:f', run='limit')
o.C(3, 'start has two elements', 'start:f[2]=0,1 limit:f[]=3 delta:f[]=1 -> y:f', 'start:f[1]=0 limit:f[]=3 delta:f[]=1 -> y:f')
o.C(4, 'limit is taken in', 'start:i32[]=0 limit:i32[]=3 delta:i32[]=1 -> y:i32[4]', 'start:i32[]=0 limit:i32[]=3 delta:i32[]=1 -> y:i32[3]')
o.C(5, 'stash_type is FLOAT16', 'start:f[]=0 limit:f[]=3 delta:f[]=1 -> y:f', A={'stash_type': 10}, G={'stash_type': 1}, opset=27)

o = Op('size', 'Size')
o.C(1, 'y is INT32', 'x:f[3] -> y:i32[]', 'x:f[3] -> y:i64[]')
o.C(2, 'y is a list of one', 'x:f[3] -> y:i64[1]', 'x:f[3] -> y:i64[]')

o = Op('non_zero', 'NonZero')
o.C(1, 'x is a FLOAT8 without scale', 'x:f8[3] -> y:i64', 'x:f8q[3] -> y:i64')
o.C(2, 'y is INT32', 'x:f[3] -> y:i32', 'x:f[3] -> y:i64')
o.C(3, 'y has a row too many', 'x:i8[2,2] -> y:i64[3,4]', 'x:i8[2,2] -> y:i64[2,4]')

o = Op('non_max_suppression', 'NonMaxSuppression')
b, t = 'boxes:f[1,2,4]', 'scores:f[1,1,2] most:i64[]=1'
o.C(1, 'boxes are plain integers', 'boxes:i32[1,2,4] %s -> y:i64' % t, '%s %s -> y:i64' % (b, t))
o.C(1, 'scores are DOUBLE', '%s scores:d[1,1,2] most:i64[]=1 -> y:i64' % b, '%s scores:q[1,1,2] most:i64[]=1 -> y:i64' % b)
o.C(1, 'max_output is INT32', '%s scores:f[1,1,2] most:i32[]=1 -> y:i64' % b, '%s %s -> y:i64' % (b, t))
o.C(1, 'iou_threshold is a plain integer', '%s %s iou:i32[]=0 -> y:i64' % (b, t), '%s %s iou:f[]=0 -> y:i64' % (b, t))
o.C(1, 'score_threshold is BOOL', '%s %s none:none score:b[]=0 -> y:i64' % (b, t), '%s %s none:none score:f[]=0 -> y:i64' % (b, t))
o.C(2, 'boxes have two corners of three coordinates', 'boxes:f[1,2,6] %s -> y:i64' % t, '%s %s -> y:i64' % (b, t))
o.C(2, 'boxes have no batch', 'boxes:f[2,4] %s -> y:i64' % t, '%s %s -> y:i64' % (b, t))
o.C(2, 'scores have no classes', '%s scores:f[1,2] most:i64[]=1 -> y:i64' % b, '%s scores:f[1,1,2] most:i64[]=1 -> y:i64' % b)
o.C(2, 'scores are laid out with the classes last', '%s scores:f[1,2,3] most:i64[]=1 -> y:i64' % b, '%s scores:f[1,3,2] most:i64[]=1 -> y:i64' % b)
o.C(2, 'scores have another batch', '%s scores:f[2,1,2] most:i64[]=1 -> y:i64' % b, '%s scores:f[1,1,2] most:i64[]=1 -> y:i64' % b)
o.C(3, 'max_output has rank 2', '%s scores:f[1,1,2] most:i64[1,1]=1 -> y:i64' % b, '%s scores:f[1,1,2] most:i64[1]=1 -> y:i64' % b)
o.C(3, 'a threshold for each of two classes', '%s scores:f[1,2,2] most:i64[]=1 iou:f[2] -> y:i64' % b, '%s scores:f[1,2,2] most:i64[]=1 iou:f[1] -> y:i64' % b)
o.C(3, 'score_threshold is empty', '%s %s none:none score:f[0] -> y:i64' % (b, t), '%s %s none:none score:f[1] -> y:i64' % (b, t))
o.C(4, 'center_point_box is 2', '%s %s -> y:i64' % (b, t), A={'center_point_box': 2}, G={'center_point_box': 1})
o.C(5, 'y is INT32', '%s %s -> y:i32' % (b, t), '%s %s -> y:i64' % (b, t))
o.C(6, 'y has a column for the score', '%s %s -> y:i64[1,4]' % (b, t), '%s %s -> y:i64[1,3]' % (b, t))

o = Op('trilu', 'Trilu', 14)
o.C(1, 'x is the plain INT8 and y the quantized type over it', 'x:i8[2,2] -> y:q[2,2]', 'x:f[2,2] -> y:q[2,2]')
o.C(2, 'x has rank 1', 'x:f[4] -> y:f', 'x:f[1,4] -> y:f')
o.C(3, 'k is INT32', 'x:f[2,2] k:i32[]=0 -> y:f', 'x:f[2,2] k:i64[]=0 -> y:f')
o.C(3, 'k has two elements', 'x:f[2,2] k:i64[2]=0,1 -> y:f', 'x:f[2,2] k:i64[1]=0 -> y:f')
o.C(4, 'upper is -1', 'x:f[2,2] -> y:f', A={'upper': -1}, G={'upper': 0})
o.C(5, 'y is declared with the axes of x exchanged', 'x:f[2,3] -> y:f[3,2]', 'x:f[2,3] -> y:f[2,3]')

o = Op('one_hot', 'OneHot')
o.C(1, 'indices are quantized', 'i:q[3] d:i64[]=2 v:f[2] -> y:f[3,2]', 'i:f[3] d:i64[]=2 v:f[2] -> y:f[3,2]')
o.C(1, 'depth is BOOL', 'i:i64[3] d:b[]=1 v:f[2] -> y:f[3,1]', 'i:i64[3] d:u8[]=1 v:f[2] -> y:f[3,1]')
o.C(2, 'off and on are plain integers, the result the quantized type over them', 'i:i64[3] d:i64[]=2 v:i8[2] -> y:q[3,2]', 'i:i64[3] d:i64[]=2 v:q[2] -> y:q[3,2]')
o.C(3, 'depth has two elements', 'i:i64[3] d:i64[2]=2,2 v:f[2] -> y:f', 'i:i64[3] d:i64[1]=2 v:f[2] -> y:f')
o.C(3, 'depth is -1', 'i:i64[3] d:i64[]=-1 v:f[2] -> y:f', 'i:i64[3] d:i64[]=0 v:f[2] -> y:f', run='d')
o.C(3, 'depth is NaN', 'i:i64[3] d:f[]=nan v:f[2] -> y:f', 'i:i64[3] d:f[]=1.5 v:f[2] -> y:f', run='d')
o.C(4, 'axis is the rank of y', 'i:i64[3] d:i64[]=2 v:f[2] -> y:f', A={'axis': 2}, G={'axis': 1})
o.C(4, 'indices has no axis', 'i:i64[] d:i64[]=2 v:f[2] -> y:f', 'i:i64[1] d:i64[]=2 v:f[2] -> y:f')
o.C(5, 'off alone', 'i:i64[3] d:i64[]=2 v:f[1] -> y:f', 'i:i64[3] d:i64[]=2 v:f[2] -> y:f')
o.C(5, 'off and on stand in a column', 'i:i64[3] d:i64[]=2 v:f[2,1] -> y:f', 'i:i64[3] d:i64[]=2 v:f[2] -> y:f')
o.C(6, 'y has the new axis first', 'i:i64[3] d:i64[]=2 v:f[2] -> y:f[2,3]', 'i:i64[3] d:i64[]=2 v:f[2] -> y:f[3,2]')

o = Op('lp_normalization', 'LpNormalization')
o.C(1, 'plain integers are not computed with here, though both types are one', 'x:i32[3] -> y:i32[3]', 'x:d[3] -> y:d[3]')
o.C(1, 'x is DOUBLE and y FLOAT: all or none are DOUBLE', 'x:d[3] -> y:f[3]', 'x:f[3] -> y:f[3]')
o.C(2, 'axis is -rank - 1', 'x:q[2,3] -> y:q[2,3]', A={'axis': -3}, G={'axis': -2})
o.C(2, 'x has no axis', 'x:q[] -> y:q[]', 'x:q[1] -> y:q[1]')
o.C(3, 'p is 0', 'x:q[3] -> y:q[3]', A={'p': 0}, G={'p': 1})
o.C(3, 'p is 3', 'x:q[3] -> y:q[3]', A={'p': 3}, G={'p': 2})
same_shape(o, 4)

o = Op('lrn', 'LRN')
A = {'size': 3}
o.C(1, 'plain integers are not computed with here, though both types are one', 'x:i32[1,3] -> y:i32[1,3]', 'x:d[1,3] -> y:d[1,3]', A=A)
o.C(1, 'x is DOUBLE and y FLOAT: all or none are DOUBLE', 'x:d[1,3] -> y:f[1,3]', 'x:f[1,3] -> y:f[1,3]', A=A)
o.C(2, 'x has no channels', 'x:q[3] -> y:q[3]', 'x:q[1,3] -> y:q[1,3]', A=A)
o.C(3, 'size is 0', 'x:q[1,3] -> y:q[1,3]', A={'size': 0}, G={'size': 1})
o.C(3, 'size is -1', 'x:q[1,3] -> y:q[1,3]', A={'size': -1}, G={'size': 7})
for name in ('alpha', 'beta', 'bias'):
    o.C(4, name + ' is NaN', 'x:q[1,3] -> y:q[1,3]', A=dict(A, **{name: 'nan'}), G=dict(A, **{name: 0.5}))
o.C(4, 'beta is minus infinity', 'x:q[1,3] -> y:q[1,3]', A=dict(A, beta='-inf'), G=dict(A, beta=-0.5))
o.C(5, 'y is declared with channels last', 'x:q[1,2,3] -> y:q[1,3,2]', 'x:q[1,2,3] -> y:q[1,2,3]', A=A)

comparison('equal', 'Equal')
for s, t, ops in [('greater', 'Greater', None), ('less', 'Less', None), ('greater_or_equal', 'GreaterOrEqual', None),
                  ('less_or_equal', 'LessOrEqual', None)]:
    comparison(s, t, ops).C(1, 'BOOL, which has no order', 'a:b[2] b:b[2] -> y:b[2]', 'a:u8[2] b:u8[2] -> y:b[2]')
logical('and', 'And'); logical('or', 'Or'); logical('xor', 'Xor')
o = Op('not', 'Not')
o.C(1, 'x is UINT8, of zeros and ones', 'x:u8[2] -> y:b[2]', 'x:b[2] -> y:b[2]')
o.C(1, 'y is UINT8', 'x:b[2] -> y:u8[2]', 'x:b[2] -> y:b[2]')
o.C(2, 'y is declared with an axis of size 1 more than x has', 'x:b[2,3] -> y:b[1,2,3]', 'x:b[2,3] -> y:b[2,3]')

o = Op('where', 'Where')
o.C(1, 'condition is UINT8, of zeros and ones', 'condition:u8[2]=0,1 x:q[2] y:q[2] -> z:q[2]', 'condition:b[2] x:q[2] y:q[2] -> z:q[2]')
o.C(2, 'x and y are quantized and z is the storage type', 'condition:b[2] x:q[2] y:q[2] -> z:i8[2]', 'condition:b[2] x:q[2] y:q[2] -> z:q[2]')
o.C(2, 'x and y are plain integers of different width', 'condition:b[2] x:i32[2] y:i64[2] -> z:i32[2]', 'condition:b[2] x:i32[2] y:i32[2] -> z:i32[2]')
o.C(3, 'condition alone does not fit', 'condition:b[2] x:q[2,3] y:q[2,3] -> z:q', 'condition:b[2,1] x:q[2,3] y:q[2,3] -> z:q')
o.C(4, 'condition enlarges what x and y broadcast to', 'condition:b[2,1] x:q[3] y:q[3] -> z:q[3]', 'condition:b[2,1] x:q[3] y:q[3] -> z:q[2,3]')

# ---- Clip, Cast
o = Op('clip', 'Clip')
o.C(1, 'max is the plain INT8 beside quantized x and y', 'x:q[3] min:q[] max:i8[] -> y:q[3]', 'x:q[3] min:q[] max:q[] -> y:q[3]')
o.C(1, 'the output is BOOL, which is no real operand', 'x:q[3] min:h[] -> y:b[3]', 'x:q[3] min:h[] -> y:f[3]')
o.C(1, 'the lower bound has another plain type than x', 'x:i32[3] min:i64[] -> y:i32[3]', 'x:i32[3] min:i32[] -> y:i32[3]')
o.C(2, 'one element, but of rank 2', 'x:q[3] min:f[1,1] -> y:q[3]', 'x:q[3] min:f[1] -> y:q[3]')
o.C(2, 'a bound for each of two elements', 'x:q[2] none:none max:f[2] -> y:q[2]', 'x:q[2] none:none max:f[] -> y:q[2]')
same_shape(o, 3)
o.C(4, 'before opset 11 an attribute bounds a real x, not a plain one', 'x:i32[3] -> y:i32[3]', 'x:q32[3] -> y:q32[3]', A={'min': 2.0}, opset=10)
o.C(4, 'min is given as an attribute and as an input', 'x:q[3] min:q[] -> y:q[3]', 'x:q[3] -> y:q[3]', A={'min': 0.5}, opset=10)
o.C(4, 'the form of the attribute in a later opset (graph.C6 may name it, too)', 'x:q[3] -> y:q[3]', A={'min': 0.5}, opset=11, gopset=10)

o = Op('cast', 'Cast')
o.C(1, 'y is COMPLEX64', 'x:f[2] -> y:c64[2]', 'x:f[2] -> y:d[2]', A={'to': 'complex64'}, G={'to': 'double'})
o.C(1, 'y is STRING, which Cast of ONNX knows', 'x:f[2] -> y:str[2]', 'x:f[2] -> y:d[2]', A={'to': 'string'}, G={'to': 'double'})
o.C(2, 'to names the storage of the quantized type that y has', 'x:f[2] -> y:q[2]', A={'to': 'int8'}, G={'to': 'int8q'})
o.C(2, 'to is FLOAT, y FLOAT16', 'x:q[2] -> y:h[2]', A={'to': 'float'}, G={'to': 'float16'})
o.C(3, 'y is declared with the axes of x exchanged', 'x:q[2,3] -> y:f[3,2]', 'x:q[2,3] -> y:f[2,3]', A={'to': 'float'})
o.C(4, 'a scaled small float always saturates, saturate 0 says otherwise', 'x:f[2] -> y:f8q[2]', A={'to': 'float8e4m3fnq', 'saturate': 0},
    G={'to': 'float8e4m3fnq', 'saturate': 1}, opset=19)
o.C(4, 'saturate is 2', 'x:f[2] -> y:f8[2]', A={'to': 'float8e4m3fn', 'saturate': 2}, G={'to': 'float8e4m3fn', 'saturate': 0}, opset=19)
o.C(4, 'round_mode is a rounding that the list does not have', 'x:f[2] -> y:e8m0[2]', A={'to': 'float8e8m0', 'round_mode': 'even'},
    G={'to': 'float8e8m0', 'round_mode': 'nearest'}, opset=24)

# ---- data movement
def moves(stem, type, ins, outs, A=None, opset=None, opsets=None, src='x', name='y', **kw):
    """C1; ins and outs with {t} and {u} for the types of the source and of the result"""
    o = Op(stem, type, opset, **kw)
    for why, t, u, g in [('the source is a plain integer, the result the quantized type over it', 'i32', 'q32', 'i32'),
                         ('the source is quantized, the result its storage type', 'q', 'i8', 'q'),
                         ('the source is DOUBLE, no real operand, and the result FLOAT', 'd', 'f', 'd')]:
        o.C(1, why, (ins + ' -> ' + outs).format(t=t, u=u), (ins + ' -> ' + outs).format(t=t, u=g), A=A)
    return o

o = moves('identity', 'Identity', 'x:{t}[3]', 'y:{u}[3]')
same_shape(o, 2)

o = moves('flatten', 'Flatten', 'x:{t}[2,3]', 'y:{u}[2,3]')
o.C(2, 'axis is rank + 1; rank itself is allowed', 'x:q[2,3] -> y:q', A={'axis': 3}, G={'axis': 2})
o.C(2, 'axis is -rank - 1', 'x:q[2,3] -> y:q', A={'axis': -3}, G={'axis': -2})
o.C(3, 'axis 0 puts all in the second dimension', 'x:q[2,3] -> y:q[2,3]', 'x:q[2,3] -> y:q[1,6]', A={'axis': 0})

o = moves('transpose', 'Transpose', 'x:{t}[2,3]', 'y:{u}[3,2]')
o.C(2, 'perm counts from the end, which it may not', 'x:q[2,3] -> y:q', A={'perm': [1, -2]}, G={'perm': [1, 0]})
o.C(2, 'perm names an axis twice', 'x:q[2,2] -> y:q', A={'perm': [1, 1]}, G={'perm': [1, 0]})
o.C(2, 'perm is a permutation of fewer axes', 'x:q[2,3,1] -> y:q', A={'perm': [1, 0]}, G={'perm': [1, 0, 2]})
o.C(3, 'y has the dimensions of the inverse permutation', 'x:q[2,3,4] -> y:q[3,4,2]', 'x:q[2,3,4] -> y:q[4,2,3]', A={'perm': [2, 0, 1]})

o = moves('reshape', 'Reshape', 'data:{t}[2,3] shape:i64[1]=6', 'y:{u}[6]')
o.C(2, 'two dimensions are -1, in a tensor where one of them would be 1', 'data:q[6] shape:i64[2]=-1,-1 -> y:q', 'data:q[6] shape:i64[2]=-1,1 -> y:q', run='shape')
o.C(2, 'shape is INT32', 'data:q[6] shape:i32[2]=2,3 -> y:q[2,3]', 'data:q[6] shape:i64[2]=2,3 -> y:q[2,3]')
o.C(2, 'shape has rank 0', 'data:q[6] shape:i64[]=6 -> y:q[6]', 'data:q[6] shape:i64[1]=6 -> y:q[6]')
o.C(2, 'a dimension is -2', 'data:q[6] shape:i64[2]=-2,-1 -> y:q', 'data:q[6] shape:i64[2]=2,-1 -> y:q')
o.C(3, 'six elements have no rows of four', 'data:q[6] shape:i64[2]=4,-1 -> y:q', 'data:q[6] shape:i64[2]=3,-1 -> y:q', run='shape')
o.C(3, 'four elements of six', 'data:q[6] shape:i64[2]=2,2 -> y:q', 'data:q[6] shape:i64[2]=2,3 -> y:q', run='shape')
o.C(4, 'the 0 stands at position 1 of data of rank 1', 'data:q[6] shape:i64[2]=6,0 -> y:q', 'data:q[6,1] shape:i64[2]=6,0 -> y:q', run='shape')
o.C(5, 'y is declared with 1 where a 0 copies 2', 'data:q[2,3] shape:i64[3]=0,1,-1 -> y:q[1,2,3]', 'data:q[2,3] shape:i64[3]=0,1,-1 -> y:q[2,1,3]')
o.C(6, 'before opset 5, neither the attribute nor the input', 'data:q[2,3] -> y:q[3,2]', A={}, G={'shape': [3, 2]}, opset=4)
o.C(6, 'no shape in a later opset', 'data:q[2,3] -> y:q[3,2]', 'data:q[2,3] shape:i64[2]=3,2 -> y:q[3,2]')

o = moves('squeeze', 'Squeeze', 'x:{t}[1,3] axes:i64[1]=0', 'y:{u}[3]')
o.C(1, 'axes is INT32', 'x:q[1,3] axes:i32[1]=0 -> y:q[3]', 'x:q[1,3] axes:i64[1]=0 -> y:q[3]')
o.C(1, 'axes has rank 2', 'x:q[1,3] axes:i64[1,1]=0 -> y:q[3]', 'x:q[1,3] axes:i64[1]=0 -> y:q[3]')
o.C(2, 'axis 0 is named twice, once from the end', 'x:q[1,3,1] axes:i64[2]=0,-3 -> y:q', 'x:q[1,3,1] axes:i64[2]=0,-1 -> y:q', run='axes')
o.C(2, 'the axis has size 3', 'x:q[1,3] axes:i64[1]=1 -> y:q', 'x:q[1,3] axes:i64[1]=0 -> y:q', run='axes')
o.C(2, 'the axis is the rank', 'x:q[3,1] axes:i64[1]=2 -> y:q', 'x:q[3,1] axes:i64[1]=1 -> y:q', run='axes')
o.C(3, 'y keeps the other axis of size 1, which goes without axes', 'x:q[1,3,1] -> y:q[3,1]', 'x:q[1,3,1] -> y:q[3]')

o = moves('unsqueeze', 'Unsqueeze', 'x:{t}[3] axes:i64[1]=0', 'y:{u}[1,3]')
o.C(1, 'axes is INT32', 'x:q[3] axes:i32[1]=0 -> y:q[1,3]', 'x:q[3] axes:i64[1]=0 -> y:q[1,3]')
o.C(1, 'axes has rank 2', 'x:q[3] axes:i64[1,1]=0 -> y:q[1,3]', 'x:q[3] axes:i64[1]=0 -> y:q[1,3]')
o.C(2, 'axis 0 of y is named twice, once from the end of y', 'x:q[3] axes:i64[2]=0,-3 -> y:q', 'x:q[3] axes:i64[2]=0,-1 -> y:q', run='axes')
o.C(2, 'the axis is the rank of y', 'x:q[3] axes:i64[1]=2 -> y:q', 'x:q[3] axes:i64[1]=1 -> y:q', run='axes')
o.C(2, 'before opset 13 an attribute that names an axis twice', 'x:q[3] -> y:q', A={'axes': [0, 0]}, G={'axes': [0, 1]}, opset=12)
o.C(2, 'no axes, which Squeeze may do without', 'x:q[3] -> y:q', 'x:q[3] axes:i64[1]=0 -> y:q')
o.C(3, 'the axes are those of y, not of x one after the other', 'x:q[2,3] axes:i64[2]=0,3 -> y:q[1,2,1,3]', 'x:q[2,3] axes:i64[2]=0,3 -> y:q[1,2,3,1]')

o = moves('expand', 'Expand', 'data:{t}[1,3] shape:i64[2]=2,3', 'y:{u}[2,3]')
o.C(2, '-1 does not stand for the size of data here', 'data:q[2,3] shape:i64[2]=-1,3 -> y:q', 'data:q[2,3] shape:i64[2]=1,3 -> y:q', run='shape')
o.C(2, 'shape is INT32', 'data:q[1,3] shape:i32[2]=2,3 -> y:q[2,3]', 'data:q[1,3] shape:i64[2]=2,3 -> y:q[2,3]')
o.C(2, 'shape has rank 0', 'data:q[1] shape:i64[]=2 -> y:q[2]', 'data:q[1] shape:i64[1]=2 -> y:q[2]')
o.C(3, 'a size of 0 in shape does not meet an axis of 3', 'data:q[3] shape:i64[1]=0 -> y:q', 'data:q[1] shape:i64[1]=0 -> y:q', run='shape')
o.C(3, 'the value 2 is aligned at the last axis, of size 3', 'data:q[2,3] shape:i64[1]=2 -> y:q', 'data:q[2,3] shape:i64[2]=2,1 -> y:q', run='shape')
o.C(4, 'y is declared with the values of shape, of which a 1 leaves the size of data', 'data:q[2,3] shape:i64[2]=1,3 -> y:q[1,3]', 'data:q[2,3] shape:i64[2]=1,3 -> y:q[2,3]')

o = moves('tile', 'Tile', 'data:{t}[2] repeats:i64[1]=2', 'y:{u}[4]')
o.C(2, 'repeats is for axes that data has not', 'data:q[3] repeats:i64[2]=2,1 -> y:q', 'data:q[1,3] repeats:i64[2]=2,1 -> y:q')
o.C(2, 'a repeat of -1', 'data:q[3] repeats:i64[1]=-1 -> y:q', 'data:q[3] repeats:i64[1]=0 -> y:q', run='repeats')
o.C(2, 'repeats is INT32', 'data:q[3] repeats:i32[1]=2 -> y:q', 'data:q[3] repeats:i64[1]=2 -> y:q')
o.C(3, 'y is declared with the repeats of the other axis', 'data:q[2,3] repeats:i64[2]=2,1 -> y:q[2,6]', 'data:q[2,3] repeats:i64[2]=2,1 -> y:q[4,3]')

o = moves('gather', 'Gather', 'data:{t}[3] indices:i64[2]=2,0', 'y:{u}[2]')
o.C(2, 'data is a scalar and has no axis', 'data:q[] indices:i64[]=0 -> y:q', 'data:q[1] indices:i64[]=0 -> y:q')
o.C(2, 'axis is the rank', 'data:q[2,3] indices:i64[1]=0 -> y:q', A={'axis': 2}, G={'axis': 1})
o.C(3, 'indices is INT16', 'data:q[3] indices:i16[1]=2 -> y:q[1]', 'data:q[3] indices:i32[1]=2 -> y:q[1]')
o.C(3, 'indices is UINT64', 'data:q[3] indices:u64[1]=2 -> y:q[1]', 'data:q[3] indices:i64[1]=2 -> y:q[1]')
o.C(4, 'an index is one below -size', 'data:q[3] indices:i64[2]=0,-4 -> y:q[2]', 'data:q[3] indices:i64[2]=0,-3 -> y:q[2]', run='indices')
o.C(4, 'the index is the size of the axis, in a table that has more rows', 'data:q[4,3] indices:i64[1]=3 -> y:q[4,1]', 'data:q[4,3] indices:i64[1]=2 -> y:q[4,1]', A={'axis': 1}, run='indices')
o.C(5, 'a scalar index removes the axis', 'data:q[2,3] indices:i64[]=1 -> y:q[1,3]', 'data:q[2,3] indices:i64[]=1 -> y:q[3]')

o = Op('einsum', 'Einsum')
for why, broken, kept in [('b is the plain INT8 beside a quantized a', 'a:q[2] b:i8[2] -> y:q[2]', 'a:q[2] b:q[2] -> y:q[2]'),
                          ('plain types differ in width', 'a:i32[2] b:i32[2] -> y:i64[2]', 'a:i32[2] b:i32[2] -> y:i32[2]'),
                          ('BOOL is no number', 'a:b[2] b:b[2] -> y:b[2]', 'a:u8[2] b:u8[2] -> y:u8[2]')]:
    o.C(1, why, broken, kept, A={'equation': 'i,i->i'})
for why, broken, kept in [('one term for two inputs', 'i->i', 'i,i->i'), ('a digit', 'i,1->', 'i,j->'),
                          ('two dots', '..i,i->i', '...i,i->i'), ('two ellipses in a term', '...i...,i->i', 'i...,i->i'),
                          ('half an arrow', 'i,i-', 'i,i->'), ('two terms for y', 'i,j->i,j', 'i,j->ij')]:
    o.C(2, why, 'a:q[2] b:q[2] -> y:q', A={'equation': broken}, G={'equation': kept})
o.C(3, 'an axis without a letter', 'a:q[2,3] -> y:q', A={'equation': 'i->i'}, G={'equation': 'ij->i'})
o.C(3, 'three letters and an ellipsis for two axes', 'a:q[2,3] -> y:q', A={'equation': '...ijk->i'}, G={'equation': '...ij->i'})
o.C(3, 'an ellipsis of one axis and one of none', 'a:q[2,3] b:q[2] -> y:q', A={'equation': 'i...,...i->i'}, G={'equation': 'ij...,...i->i'})
o.C(4, 'y has a letter that no input has', 'a:q[2,3] -> y:q', A={'equation': 'ij->ik'}, G={'equation': 'ij->ij'})
o.C(4, 'y has a letter twice', 'a:q[2,2] -> y:q', A={'equation': 'ij->ii'}, G={'equation': 'ii->i'})
o.C(5, 'one letter for sizes 2 and 3', 'a:q[2,3] b:q[2,3] -> y:q', A={'equation': 'ij,jk->ik'}, G={'equation': 'ij,ik->jk'})
o.C(5, 'a diagonal of 2 and 3', 'a:q[2,3] -> y:q', A={'equation': 'ii'}, G={'equation': 'ij'})
o.C(5, 'the axes of ellipses are 2 and 3', 'a:q[2,3] b:q[3,2] -> y:q', A={'equation': '...i,...j->ij'}, G={'equation': '...i,j...->ij'})
o.C(6, 'y is declared with the order of x', 'a:q[2,3] -> y:q[2,3]', 'a:q[2,3] -> y:q[3,2]', A={'equation': 'ij->ji'})
o.C(6, 'the axis of the ellipsis is last', 'a:q[2,3] -> y:q[2,3]', 'a:q[2,3] -> y:q[3,2]', A={'equation': 'i...'})

o = Op('grid_sample', 'GridSample', 20)
A = {'mode': 'nearest'}
o.C(1, 'x is a plain integer, y the quantized type over it', 'x:i8[1,1,2] grid:f[1,3,1] -> y:q[1,1,3]', 'x:i8[1,1,2] grid:f[1,3,1] -> y:i8[1,1,3]', A=A)
o.C(1, 'x is BOOL in mode linear', 'x:b[1,1,2] grid:f[1,3,1] -> y:b[1,1,3]', A={'mode': 'linear'}, G=A)
o.C(1, 'x is a FLOAT8 without scale, in mode linear by default', 'x:f8[1,1,2] grid:f[1,3,1] -> y:f8[1,1,3]', A=None, G=A)
o.C(2, 'grid is a plain integer', 'x:f[1,1,2] grid:i8[1,3,1] -> y:f[1,1,3]', 'x:f[1,1,2] grid:q[1,3,1] -> y:f[1,1,3]')
o.C(2, 'grid is BOOL', 'x:f[1,1,2] grid:b[1,3,1] -> y:f[1,1,3]', 'x:f[1,1,2] grid:h[1,3,1] -> y:f[1,1,3]')
o.C(3, 'x has no spatial axis', 'x:f[1,2] grid:f[1,0] -> y:f', 'x:f[1,2,1] grid:f[1,0,1] -> y:f')
o.C(3, 'three spatial axes before opset 20', 'x:f[1,1,1,1,2] grid:f[1,1,1,1,3] -> y:f', opset=16, gopset=20)
o.C(3, 'one spatial axis before opset 20', 'x:f[1,1,2] grid:f[1,1,1] -> y:f', opset=19, gopset=20)
o.C(3, 'grid has another rank than x', 'x:f[1,1,2,2] grid:f[1,3,2] -> y:f', 'x:f[1,1,2,2] grid:f[1,3,1,2] -> y:f')
o.C(3, 'grid has another batch than x', 'x:f[2,1,2] grid:f[1,3,1] -> y:f', 'x:f[2,1,2] grid:f[2,3,1] -> y:f')
o.C(3, 'grid has a coordinate for the channel, too', 'x:f[1,1,2] grid:f[1,3,2] -> y:f', 'x:f[1,1,2] grid:f[1,3,1] -> y:f')
o.C(4, 'mode is bilinear from opset 20 on', 'x:f[1,1,2,2] grid:f[1,3,1,2] -> y:f', A={'mode': 'bilinear'}, G={'mode': 'linear'})
o.C(4, 'mode is linear before opset 20', 'x:f[1,1,2,2] grid:f[1,3,1,2] -> y:f', A={'mode': 'linear'}, G={'mode': 'bilinear'}, opset=16)
o.C(4, 'padding_mode is in the singular', 'x:f[1,1,2] grid:f[1,3,1] -> y:f', A={'padding_mode': 'zero'}, G={'padding_mode': 'zeros'})
o.C(4, 'align_corners is 2', 'x:f[1,1,2] grid:f[1,3,1] -> y:f', A={'align_corners': 2}, G={'align_corners': 1})
o.C(5, 'the last axis of x is empty', 'x:f[1,1,2,0] grid:f[1,3,1,2] -> y:f', 'x:f[1,0,2,1] grid:f[1,3,1,2] -> y:f')
o.C(6, 'y is declared with the spatial sizes of x', 'x:f[1,1,2] grid:f[1,3,1] -> y:f[1,1,2]', 'x:f[1,1,2] grid:f[1,3,1] -> y:f[1,1,3]')
o.C(7, 'mode is cubic, which the text does not define', 'x:f[1,1,2] grid:f[1,3,1] -> y:f[1,1,3]', A={'mode': 'cubic'}, G={'mode': 'linear'})
o.C(7, 'mode is bicubic before opset 20', 'x:f[1,1,2,2] grid:f[1,3,1,2] -> y:f[1,1,3,1]', A={'mode': 'bicubic'}, G={'mode': 'bilinear'}, opset=16)
o.C(7, 'grid is DOUBLE', 'x:f[1,1,2] grid:d[1,3,1] -> y:f[1,1,3]', 'x:f[1,1,2] grid:f[1,3,1] -> y:f[1,1,3]')

o = moves('compress', 'Compress', 'x:{t}[3] condition:b[3]=0,1,1', 'y:{u}[2]')
o.C(2, 'axis is the rank', 'x:q[2,3] condition:b[1]=1 -> y:q', A={'axis': 2}, G={'axis': 1})
o.C(2, 'x is a scalar', 'x:q[] condition:b[1]=1 -> y:q', 'x:q[1] condition:b[1]=1 -> y:q')
o.C(3, 'condition is UINT8, of zeros and ones', 'x:q[2] condition:u8[2]=0,1 -> y:q', 'x:q[2] condition:b[2]=0,1 -> y:q')
o.C(3, 'condition is a scalar', 'x:q[1] condition:b[]=1 -> y:q', 'x:q[1] condition:b[1]=1 -> y:q')
o.C(3, 'condition is longer than the axis, though x has as many elements', 'x:q[2,2] condition:b[3]=1,0,0 -> y:q', 'x:q[2,2] condition:b[2]=1,0 -> y:q', A={'axis': 0})
o.C(3, 'condition is longer than x without an axis', 'x:q[2,2] condition:b[5]=1,0,0,0,0 -> y:q', 'x:q[2,2] condition:b[4]=1,0,0,0 -> y:q')
o.C(4, 'y has a place for each that is false', 'x:q[3] condition:b[3]=0,1,1 -> y:q[1]', 'x:q[3] condition:b[3]=0,1,1 -> y:q[2]')
o.C(4, 'y keeps the axes of x without an axis', 'x:q[2,2] condition:b[4]=1,0,1,0 -> y:q[2,1]', 'x:q[2,2] condition:b[4]=1,0,1,0 -> y:q[2]')

o = moves('gather_elements', 'GatherElements', 'data:{t}[3] indices:i64[2]=2,0', 'y:{u}[2]')
o.C(2, 'axis is the rank', 'data:q[2,3] indices:i64[1,1]=0 -> y:q', A={'axis': 2}, G={'axis': 1})
o.C(2, 'data is a scalar', 'data:q[] indices:i64[]=0 -> y:q', 'data:q[1] indices:i64[1]=0 -> y:q')
o.C(3, 'indices is INT16', 'data:q[3] indices:i16[1]=2 -> y:q[1]', 'data:q[3] indices:i32[1]=2 -> y:q[1]')
o.C(3, 'indices is a list beside data of rank 2', 'data:q[2,3] indices:i64[1]=0 -> y:q', 'data:q[2,3] indices:i64[1,1]=0 -> y:q')
o.C(3, 'indices has more columns than data, gathered by rows', 'data:q[2,3] indices:i64[1,4]=0,1,0,1 -> y:q', 'data:q[2,3] indices:i64[4,1]=0,1,0,1 -> y:q')
o.C(4, 'an index is one below -size', 'data:q[3] indices:i64[2]=0,-4 -> y:q[2]', 'data:q[3] indices:i64[2]=0,-3 -> y:q[2]', run='indices')
o.C(4, 'the index is the size of the axis, in data that has more rows', 'data:q[4,3] indices:i64[1,1]=3 -> y:q', 'data:q[4,3] indices:i64[1,1]=2 -> y:q', A={'axis': 1}, run='indices')
o.C(5, 'y is declared with the shape of data', 'data:q[3] indices:i64[2]=2,0 -> y:q[3]', 'data:q[3] indices:i64[2]=2,0 -> y:q[2]')

o = moves('gather_nd', 'GatherND', 'data:{t}[3] indices:i64[2,1]=2,0', 'y:{u}[2]')
o.C(2, 'indices is INT32, which Gather takes', 'data:q[3] indices:i32[1,1]=2 -> y:q[1]', 'data:q[3] indices:i64[1,1]=2 -> y:q[1]')
o.C(2, 'indices is a scalar', 'data:q[3] indices:i64[]=1 -> y:q', 'data:q[3] indices:i64[1]=1 -> y:q')
o.C(3, 'the batches are 2 in data and 3 in indices', 'data:q[2,3] indices:i64[3,1]=0,1,2 -> y:q', 'data:q[3,3] indices:i64[3,1]=0,1,2 -> y:q', A={'batch_dims': 1})
o.C(3, 'batch_dims is the rank of indices', 'data:q[2,3,4] indices:i64[2]=0,1 -> y:q', 'data:q[2,3,4] indices:i64[2]=0,1 -> y:q', A={'batch_dims': 1}, G={'batch_dims': 0})
o.C(3, 'batch_dims is negative', 'data:q[2,3] indices:i64[2,1]=0,1 -> y:q', A={'batch_dims': -1}, G={'batch_dims': 1})
o.C(4, 'a tuple of two names more axes than the batch leaves', 'data:q[2,3] indices:i64[2,2]=0,1,1,2 -> y:q', 'data:q[2,3] indices:i64[2,1]=0,1 -> y:q', A={'batch_dims': 1})
o.C(4, 'tuples of no values', 'data:q[2,3] indices:i64[2,0]= -> y:q', 'data:q[2,3] indices:i64[2,1]=0,1 -> y:q')
o.C(5, 'the second value of a tuple fits the first axis only', 'data:q[4,3] indices:i64[1,2]=1,3 -> y:q[1]', 'data:q[4,3] indices:i64[1,2]=1,2 -> y:q[1]', run='indices')
o.C(5, 'an index is one below -size', 'data:q[3] indices:i64[1,1]=-4 -> y:q[1]', 'data:q[3] indices:i64[1,1]=-3 -> y:q[1]', run='indices')
o.C(6, 'a slice keeps the axes that no tuple names', 'data:q[2,3] indices:i64[2,1]=1,0 -> y:q[2]', 'data:q[2,3] indices:i64[2,1]=1,0 -> y:q[2,3]')

o = moves('slice', 'Slice', 'data:{t}[4] starts:i64[1]=1 ends:i64[1]=3', 'y:{u}[2]')
o.C(2, 'one step for two axes', 'data:q[4,4] starts:i64[2]=0,1 ends:i64[2]=3,4 axes:i64[2]=0,1 steps:i64[1]=1 -> y:q',
    'data:q[4,4] starts:i64[2]=0,1 ends:i64[2]=3,4 axes:i64[2]=0,1 steps:i64[2]=1,1 -> y:q')
o.C(2, 'all four are INT16', 'data:q[4] starts:i16[1]=1 ends:i16[1]=3 -> y:q[2]', 'data:q[4] starts:i32[1]=1 ends:i32[1]=3 -> y:q[2]')
o.C(2, 'starts and ends are scalars', 'data:q[4] starts:i64[]=1 ends:i64[]=3 -> y:q[2]', 'data:q[4] starts:i64[1]=1 ends:i64[1]=3 -> y:q[2]')
o.C(3, 'axis 1 is named twice, once from the end', 'data:q[4,4] starts:i64[2]=0,1 ends:i64[2]=3,4 axes:i64[2]=1,-1 -> y:q',
    'data:q[4,4] starts:i64[2]=0,1 ends:i64[2]=3,4 axes:i64[2]=1,-2 -> y:q', run='axes')
o.C(3, 'without axes, more starts than data has axes', 'data:q[4] starts:i64[2]=0,0 ends:i64[2]=3,1 -> y:q', 'data:q[4,1] starts:i64[2]=0,0 ends:i64[2]=3,1 -> y:q')
o.C(3, 'the axis is the rank', 'data:q[4] starts:i64[1]=0 ends:i64[1]=3 axes:i64[1]=1 -> y:q', 'data:q[4] starts:i64[1]=0 ends:i64[1]=3 axes:i64[1]=0 -> y:q', run='axes')
o.C(4, 'the step of an axis that would be empty anyway is 0', 'data:q[4] starts:i64[1]=2 ends:i64[1]=2 axes:i64[1]=0 steps:i64[1]=0 -> y:q',
    'data:q[4] starts:i64[1]=2 ends:i64[1]=2 axes:i64[1]=0 steps:i64[1]=1 -> y:q', run='steps')
o.C(5, 'steps of -2 from 3 to before 0 take two elements', 'data:q[4] starts:i64[1]=3 ends:i64[1]=0 axes:i64[1]=0 steps:i64[1]=-2 -> y:q[1]',
    'data:q[4] starts:i64[1]=3 ends:i64[1]=0 axes:i64[1]=0 steps:i64[1]=-2 -> y:q[2]')

o = moves('pad', 'Pad', 'data:{t}[2] pads:i64[2]=1,0', 'y:{u}[3]')
o.C(2, 'with one axis named pads has one begin and one end, not those of all axes', 'data:q[2,2] pads:i64[4]=0,1,0,1 none:none axes:i64[1]=1 -> y:q',
    'data:q[2,2] pads:i64[2]=1,1 none:none axes:i64[1]=1 -> y:q', opset=18)
o.C(2, 'pads is INT32', 'data:q[2] pads:i32[2]=1,0 -> y:q[3]', 'data:q[2] pads:i64[2]=1,0 -> y:q[3]')
o.C(2, 'pads has rank 2', 'data:q[2] pads:i64[1,2]=1,0 -> y:q[3]', 'data:q[2] pads:i64[2]=1,0 -> y:q[3]')
o.C(3, 'symmetric is a mode of NumPy and TensorFlow', 'data:q[3] pads:i64[2]=1,0 -> y:q[4]', A={'mode': 'symmetric'}, G={'mode': 'reflect'})
o.C(4, 'constant_value has one element for each axis', 'data:q[2,2] pads:i64[4]=1,0,0,0 constant_value:q[2] -> y:q', 'data:q[2,2] pads:i64[4]=1,0,0,0 constant_value:q[1] -> y:q')
o.C(4, 'constant_value is empty', 'data:q[2] pads:i64[2]=1,0 constant_value:q[0] -> y:q', 'data:q[2] pads:i64[2]=1,0 constant_value:q[] -> y:q')
o.C(5, 'the begin removes one of three, and two are mirrored about the end of what is left', 'data:q[3] pads:i64[2]=-1,2 -> y:q', 'data:q[3] pads:i64[2]=-1,1 -> y:q', A={'mode': 'reflect'}, run='pads')
o.C(5, 'negative pads remove four of three', 'data:q[3] pads:i64[2]=-2,-2 -> y:q', 'data:q[3] pads:i64[2]=-2,-1 -> y:q', run='pads')
o.C(5, 'what the begin removes leaves nothing to repeat', 'data:q[2] pads:i64[2]=-2,1 -> y:q', 'data:q[2] pads:i64[2]=-1,1 -> y:q', A={'mode': 'edge'}, run='pads')
o.C(6, 'pads holds begins, then ends, not pairs', 'data:q[2,3] pads:i64[4]=1,2,0,0 -> y:q[5,3]', 'data:q[2,3] pads:i64[4]=1,2,0,0 -> y:q[3,5]')
o.C(7, 'axis 1 is named twice, once from the end', 'data:q[2,2] pads:i64[4]=1,0,0,1 none:none axes:i64[2]=1,-1 -> y:q',
    'data:q[2,2] pads:i64[4]=1,0,0,1 none:none axes:i64[2]=1,-2 -> y:q', opset=18, run='axes')
o.C(7, 'axes is INT16', 'data:q[2] pads:i64[2]=1,0 none:none axes:i16[1]=0 -> y:q', 'data:q[2] pads:i64[2]=1,0 none:none axes:i32[1]=0 -> y:q', opset=18)
o.C(7, 'the axis is the rank', 'data:q[2] pads:i64[2]=1,0 none:none axes:i64[1]=1 -> y:q', 'data:q[2] pads:i64[2]=1,0 none:none axes:i64[1]=-1 -> y:q', opset=18, run='axes')

o = Op('concat', 'Concat')
o.C(1, 'both inputs are quantized and y is their storage type', 'a:q[2] b:q[2] -> y:i8[4]', 'a:q[2] b:q[2] -> y:q[4]', A={'axis': 0})
o.C(1, 'the second input is the plain INT8 beside a quantized one', 'a:q[2] b:i8[2] -> y:q[4]', 'a:q[2] b:q[2] -> y:q[4]', A={'axis': 0})
o.C(1, 'the third input is INT64 beside INT32', 'a:i32[2] b:i32[2] c:i64[1] -> y:i32[5]', 'a:i32[2] b:i32[2] c:i32[1] -> y:i32[5]', A={'axis': 0})
o.C(2, 'axis is -rank - 1', 'a:q[2,3] b:q[2,3] -> y:q', A={'axis': -3}, G={'axis': -2})
o.C(2, 'axis is the rank', 'a:q[2,3] b:q[2,3] -> y:q', A={'axis': 2}, G={'axis': 1})
o.C(3, 'an empty input has another size off the axis', 'a:q[2,3] b:q[0,2] -> y:q', 'a:q[2,3] b:q[0,3] -> y:q', A={'axis': 0})
o.C(3, 'the second input has a rank less', 'a:q[2,3] b:q[3] -> y:q', 'a:q[2,3] b:q[1,3] -> y:q', A={'axis': 0})
o.C(4, 'y is declared longer than the sum along the axis', 'a:q[2,1] b:q[2,2] -> y:q[2,4]', 'a:q[2,1] b:q[2,2] -> y:q[2,3]', A={'axis': -1})

o = Op('constant', 'Constant')
o.C(1, 'two attributes, of one value', ' -> y:f[]', ' -> y:f[]', A={'value': {'type': 'float', 'shape': [], 'data': [1.0]}, 'value_float': 1.0}, G={'value_float': 1.0})
o.C(1, 'no attribute', ' -> y:f[]', ' -> y:f[]', A={}, G={'value_float': 1.0})
o.C(2, 'y is the quantized type over another storage, of the other sign', ' -> y:uq[2]', ' -> y:q[2]', A={'value': {'type': 'int8', 'data': [4, 3]}})
o.C(2, 'value_ints is INT64', ' -> y:i32[2]', ' -> y:i64[2]', A={'value_ints': [1, 2]})
o.C(3, 'value_float is a scalar', ' -> y:f[1]', ' -> y:f[]', A={'value_float': 1.0})
o.C(3, 'a tensor of [2, 2] that y declares flat', ' -> y:q[4]', ' -> y:q[2,2]', A={'value': {'type': 'int8', 'shape': [2, 2], 'data': [4, 3, 2, 1]}})

o = Op('split', 'Split')
o.C(1, 'the second output alone is the storage type', 'data:q[4] -> a:q[2] b:i8[2]', 'data:q[4] -> a:q[2] b:q[2]')
o.C(1, 'data is INT32 and an output the quantized type over it', 'data:i32[4] -> a:i32[2] b:q32[2]', 'data:i32[4] -> a:i32[2] b:i32[2]')
o.C(2, 'axis is -rank - 1', 'data:q[4,4] -> a:q b:q', A={'axis': -3}, G={'axis': -2})
o.C(2, 'axis is the rank', 'data:q[4,4] -> a:q b:q', A={'axis': 2}, G={'axis': 1})
o.C(3, 'the sizes -1 and 4 add up to the 3 there are', 'data:q[3] split:i64[2]=-1,4 -> a:q b:q', 'data:q[3] split:i64[2]=1,2 -> a:q b:q', run='split')
o.C(3, 'the sizes add up to less than the axis', 'data:q[4] split:i64[2]=1,2 -> a:q b:q', 'data:q[4] split:i64[2]=1,3 -> a:q b:q', run='split')
o.C(3, 'three sizes for two outputs, the last one 0', 'data:q[3] split:i64[3]=1,2,0 -> a:q b:q', 'data:q[3] split:i64[2]=1,2 -> a:q b:q')
o.C(3, 'split is INT32', 'data:q[3] split:i32[2]=1,2 -> a:q b:q', 'data:q[3] split:i64[2]=1,2 -> a:q b:q')
o.C(4, 'three parts of two elements do not fit an axis of 5', 'data:q[5] -> a:q b:q c:q d:q', 'data:q[6] -> a:q b:q c:q d:q', A={'num_outputs': 4}, opset=18)
o.C(4, 'num_outputs is not the number of outputs', 'data:q[6] -> a:q b:q', A={'num_outputs': 3}, G={'num_outputs': 2}, opset=18)
o.C(5, 'split and num_outputs are both given and agree', 'data:q[4] split:i64[2]=2,2 -> a:q[2] b:q[2]', 'data:q[4] -> a:q[2] b:q[2]', A={'num_outputs': 2}, opset=18)
o.C(5, 'from opset 18 neither is given', 'data:q[4] -> a:q[2] b:q[2]', opset=18, gopset=17)
o.C(6, 'before opset 18 five elements are no two equal parts', 'data:q[5] -> a:q b:q', 'data:q[4] -> a:q b:q', opset=13)
o.C(7, 'the shapes of the two outputs are exchanged', 'data:q[3] split:i64[2]=1,2 -> a:q[2] b:q[1]', 'data:q[3] split:i64[2]=1,2 -> a:q[1] b:q[2]')
o.C(7, 'the last of three parts is the rest, 1 of 5', 'data:q[5] -> a:q[2] b:q[2] c:q[2]', 'data:q[5] -> a:q[2] b:q[2] c:q[1]', A={'num_outputs': 3}, opset=18)

for s, t, n in [('depth_to_space', 'DepthToSpace', 1), ('space_to_depth', 'SpaceToDepth', 0)]:
    shape, res = ('1,4,2,2', '1,1,4,4') if n else ('1,1,4,4', '1,4,2,2')
    o = moves(s, t, 'data:{t}[%s]' % shape, 'y:{u}[%s]' % res, A={'blocksize': 2})
    o.C(2, 'data has three spatial axes', 'data:q[%s,1] -> y:q' % shape, 'data:q[%s] -> y:q' % shape, A={'blocksize': 2})
    o.C(2, 'data has no batch', 'data:q[%s] -> y:q' % shape[2:], 'data:q[%s] -> y:q' % shape, A={'blocksize': 2})
    if not n:
        o.C(6, 'the order CRD, which the text does not define yet', 'data:q[%s] -> y:q' % shape, A={'blocksize': 2, 'mode': 'CRD'}, G={'blocksize': 2, 'mode': 'DCR'}, opset=28)
    o.C(3, 'blocksize is -2, of which the sizes are multiples', 'data:q[%s] -> y:q' % shape, A={'blocksize': -2}, G={'blocksize': 2})
    if n:
        o.C(4, 'C is a multiple of blocksize and not of its square', 'data:q[1,6,2,2] -> y:q', 'data:q[1,8,2,2] -> y:q', A={'blocksize': 2})
        o.C(5, 'mode in lower case', 'data:q[1,4,2,2] -> y:q', A={'blocksize': 2, 'mode': 'crd'}, G={'blocksize': 2, 'mode': 'CRD'})
        o.C(6, 'y is declared with C / b channels', 'data:q[1,4,2,2] -> y:q[1,2,4,4]', 'data:q[1,4,2,2] -> y:q[1,1,4,4]', A={'blocksize': 2})
    else:
        o.C(4, 'W alone is no multiple of blocksize', 'data:q[1,1,4,3] -> y:q', 'data:q[1,1,4,4] -> y:q', A={'blocksize': 2})
        o.C(5, 'y is declared with C * b channels', 'data:q[1,1,4,4] -> y:q[1,2,2,2]', 'data:q[1,1,4,4] -> y:q[1,4,2,2]', A={'blocksize': 2})

o = Op('scatter_nd', 'ScatterND', 18)
o.C(1, 'updates has the storage type of data', 'data:q[4] indices:i64[2,1]=0,1 updates:i8[2] -> y:q[4]', 'data:q[4] indices:i64[2,1]=0,1 updates:q[2] -> y:q[4]')
o.C(1, 'data and updates are INT32, y the quantized type over it', 'data:i32[4] indices:i64[2,1]=0,1 updates:i32[2] -> y:q32[4]', 'data:i32[4] indices:i64[2,1]=0,1 updates:i32[2] -> y:i32[4]')
o.C(2, 'a tuple of two values for data of rank 1', 'data:q[4] indices:i64[1,2]=0,1 updates:q[1] -> y:q[4]', 'data:q[4] indices:i64[1,1]=0 updates:q[1] -> y:q[4]')
o.C(2, 'indices is INT32', 'data:q[4] indices:i32[2,1]=0,1 updates:q[2] -> y:q[4]', 'data:q[4] indices:i64[2,1]=0,1 updates:q[2] -> y:q[4]')
o.C(2, 'tuples of no values: each update would be all of data', 'data:q[4] indices:i64[1,0]= updates:q[1,4] -> y:q[4]', 'data:q[4] indices:i64[1,1]=0 updates:q[1] -> y:q[4]')
o.C(3, 'updates keeps the last axis of indices', 'data:q[4] indices:i64[2,1]=0,1 updates:q[2,1] -> y:q[4]', 'data:q[4] indices:i64[2,1]=0,1 updates:q[2] -> y:q[4]')
o.C(3, 'one update for a slice of three', 'data:q[2,3] indices:i64[1,1]=1 updates:q[1,1] -> y:q[2,3]', 'data:q[2,3] indices:i64[1,1]=1 updates:q[1,3] -> y:q[2,3]')
o.C(4, 'an index is one below -size', 'data:q[4] indices:i64[2,1]=0,-5 updates:q[2] -> y:q[4]', 'data:q[4] indices:i64[2,1]=0,-4 updates:q[2] -> y:q[4]', run='indices')
o.C(4, 'the second value of a tuple fits the first axis only', 'data:q[4,3] indices:i64[1,2]=1,3 updates:q[1] -> y:q[4,3]', 'data:q[4,3] indices:i64[1,2]=1,2 updates:q[1] -> y:q[4,3]', run='indices')
o.C(5, 'reduction sum is add here', 'data:q[4] indices:i64[1,1]=0 updates:q[1] -> y:q[4]', A={'reduction': 'sum'}, G={'reduction': 'add'})
o.C(6, 'the greatest of BOOLs', 'data:b[4] indices:i64[1,1]=0 updates:b[1] -> y:b[4]', A={'reduction': 'max'}, G={'reduction': 'none'})
o.C(6, 'a sum of BOOLs', 'data:b[4] indices:i64[1,1]=0 updates:b[1] -> y:b[4]', 'data:u8[4] indices:i64[1,1]=0 updates:u8[1] -> y:u8[4]', A={'reduction': 'add'})
o.C(7, 'y is declared with the shape of updates', 'data:q[4] indices:i64[2,1]=0,1 updates:q[2] -> y:q[2]', 'data:q[4] indices:i64[2,1]=0,1 updates:q[2] -> y:q[4]')

o = moves('reverse_sequence', 'ReverseSequence', 'x:{t}[2,3] sequence_lens:i64[3]=2,0,1', 'y:{u}[2,3]')
o.C(2, 'x has one axis', 'x:q[3] sequence_lens:i64[1]=2 -> y:q', 'x:q[3,1] sequence_lens:i64[1]=2 -> y:q')
o.C(2, 'both axes are 1', 'x:q[2,2] sequence_lens:i64[2]=2,1 -> y:q', A={'time_axis': 1}, G={'time_axis': 0})
o.C(2, 'axes 1 and 2', 'x:q[2,2,2] sequence_lens:i64[2]=2,1 -> y:q', A={'time_axis': 2}, G={'time_axis': 0})
o.C(2, 'a negative axis', 'x:q[2,2] sequence_lens:i64[2]=2,1 -> y:q', A={'batch_axis': -1}, G={'batch_axis': 1})
o.C(3, 'sequence_lens is INT32', 'x:q[2,3] sequence_lens:i32[3]=2,0,1 -> y:q', 'x:q[2,3] sequence_lens:i64[3]=2,0,1 -> y:q')
o.C(3, 'as many lengths as times', 'x:q[2,3] sequence_lens:i64[2]=2,0 -> y:q', 'x:q[2,3] sequence_lens:i64[3]=2,0,1 -> y:q')
o.C(3, 'lengths in a column', 'x:q[2,3] sequence_lens:i64[3,1]=2,0,1 -> y:q', 'x:q[2,3] sequence_lens:i64[3]=2,0,1 -> y:q')
o.C(4, 'a length of one more than the times', 'x:q[2,3] sequence_lens:i64[3]=2,0,3 -> y:q', 'x:q[2,3] sequence_lens:i64[3]=2,0,2 -> y:q', run='sequence_lens')
o.C(4, 'a negative length', 'x:q[2,3] sequence_lens:i64[3]=2,0,-1 -> y:q', 'x:q[2,3] sequence_lens:i64[3]=2,0,2 -> y:q', run='sequence_lens')
o.C(5, 'y is declared with the axes exchanged', 'x:q[2,3] sequence_lens:i64[3]=2,0,1 -> y:q[3,2]', 'x:q[2,3] sequence_lens:i64[3]=2,0,1 -> y:q[2,3]')

o = Op('rotary_embedding', 'RotaryEmbedding', 23)
x, caches, ids = 'x:q[1,2,3,4]', ' cos_cache:f[1,3,2] sin_cache:f[1,3,2]', ' cos_cache:f[5,2] sin_cache:f[5,2] position_ids:'
o.C(1, 'sin_cache is the plain INT8', x + ' cos_cache:q[1,3,2] sin_cache:i8[1,3,2] -> y:q', x + ' cos_cache:q[1,3,2] sin_cache:q[1,3,2] -> y:q')
o.C(1, 'y is DOUBLE', x + caches + ' -> y:d', x + caches + ' -> y:f')
o.C(2, 'x of rank 3 without num_heads', 'x:q[1,3,8]' + caches + ' -> y:q', G={'num_heads': 2})
o.C(2, 'three heads of 8 elements', 'x:q[1,3,8]' + caches + ' -> y:q', A={'num_heads': 3}, G={'num_heads': 2})
o.C(2, 'x has rank 2', 'x:q[3,4]' + caches + ' -> y:q', x + caches + ' -> y:q', A={'num_heads': 1})
o.C(3, 'an odd number of elements', x + caches + ' -> y:q', A={'rotary_embedding_dim': 3}, G={'rotary_embedding_dim': 4})
o.C(3, 'more elements than a head has', x + caches + ' -> y:q', A={'rotary_embedding_dim': 6}, G={'rotary_embedding_dim': 4})
o.C(3, 'a head of three elements', 'x:q[1,2,3,3] cos_cache:f[1,3,1] sin_cache:f[1,3,1] -> y:q', G={'rotary_embedding_dim': 2})
o.C(3, 'interleaved is -1', x + caches + ' -> y:q', A={'interleaved': -1}, G={'interleaved': 1})
o.C(4, 'caches of a whole head', x + ' cos_cache:f[1,3,4] sin_cache:f[1,3,4] -> y:q', x + caches + ' -> y:q')
o.C(4, 'caches of rows without positions', x + ' cos_cache:f[5,2] sin_cache:f[5,2] -> y:q', x + ids + 'i64[1,3]=0,1,4 -> y:q')
o.C(4, 'sin_cache has more rows', x + ' cos_cache:f[5,2] sin_cache:f[6,2] position_ids:i64[1,3]=0,1,4 -> y:q', x + ids + 'i64[1,3]=0,1,4 -> y:q')
o.C(4, 'caches of one batch for two', 'x:q[2,2,3,4]' + caches + ' -> y:q', 'x:q[1,2,3,4]' + caches + ' -> y:q')
o.C(5, 'positions are INT32', x + ids + 'i32[1,3]=0,1,4 -> y:q', x + ids + 'i64[1,3]=0,1,4 -> y:q')
o.C(5, 'positions for each head', x + ids + 'i64[2,3]=0,1,4,0,1,4 -> y:q', x + ids + 'i64[1,3]=0,1,4 -> y:q')
o.C(6, 'a position is the number of rows', x + ids + 'i64[1,3]=0,1,5 -> y:q', x + ids + 'i64[1,3]=0,1,4 -> y:q', run='position_ids')
o.C(6, 'a negative position', x + ids + 'i64[1,3]=0,1,-1 -> y:q', x + ids + 'i64[1,3]=0,1,4 -> y:q', run='position_ids')
o.C(7, 'y is declared with tokens first', x + caches + ' -> y:q[1,3,2,4]', x + caches + ' -> y:q[1,2,3,4]')

o = Op('scatter_elements', 'ScatterElements', 18)
o.C(1, 'updates has the storage type of data', 'data:q[4] indices:i64[2]=0,1 updates:i8[2] -> y:q[4]', 'data:q[4] indices:i64[2]=0,1 updates:q[2] -> y:q[4]')
o.C(1, 'data and updates are INT32, y the quantized type over it', 'data:i32[4] indices:i64[2]=0,1 updates:i32[2] -> y:q32[4]', 'data:i32[4] indices:i64[2]=0,1 updates:i32[2] -> y:i32[4]')
o.C(2, 'axis is the rank', 'data:q[2,3] indices:i64[1,1]=0 updates:q[1,1] -> y:q', A={'axis': 2}, G={'axis': 1})
o.C(2, 'data is a scalar', 'data:q[] indices:i64[]=0 updates:q[] -> y:q', 'data:q[1] indices:i64[1]=0 updates:q[1] -> y:q')
o.C(3, 'indices is UINT64', 'data:q[4] indices:u64[1]=0 updates:q[1] -> y:q[4]', 'data:q[4] indices:i32[1]=0 updates:q[1] -> y:q[4]')
o.C(3, 'indices is a list beside data of rank 2', 'data:q[2,3] indices:i64[1]=0 updates:q[1] -> y:q', 'data:q[2,3] indices:i64[1,1]=0 updates:q[1,1] -> y:q')
o.C(3, 'indices has more columns than data, scattered to rows', 'data:q[2,3] indices:i64[1,4]=0,1,0,1 updates:q[1,4] -> y:q', 'data:q[2,3] indices:i64[4,1]=0,1,0,1 updates:q[4,1] -> y:q')
o.C(4, 'one update more than indices', 'data:q[4] indices:i64[1]=0 updates:q[2] -> y:q[4]', 'data:q[4] indices:i64[1]=0 updates:q[1] -> y:q[4]')
o.C(4, 'updates broadcasts to indices', 'data:q[2,3] indices:i64[2,3]=0,1,0,1,0,1 updates:q[1,3] -> y:q', 'data:q[2,3] indices:i64[2,3]=0,1,0,1,0,1 updates:q[2,3] -> y:q')
o.C(5, 'an index is one below -size', 'data:q[4] indices:i64[2]=0,-5 updates:q[2] -> y:q[4]', 'data:q[4] indices:i64[2]=0,-4 updates:q[2] -> y:q[4]', run='indices')
o.C(5, 'the index is the size of the axis, in data that has more rows', 'data:q[4,3] indices:i64[1,1]=3 updates:q[1,1] -> y:q', 'data:q[4,3] indices:i64[1,1]=2 updates:q[1,1] -> y:q', A={'axis': 1}, run='indices')
o.C(6, 'reduction sum is add here', 'data:q[4] indices:i64[1]=0 updates:q[1] -> y:q[4]', A={'reduction': 'sum'}, G={'reduction': 'add'})
o.C(7, 'the greatest of BOOLs', 'data:b[4] indices:i64[1]=0 updates:b[1] -> y:b[4]', A={'reduction': 'max'}, G={'reduction': 'none'})
o.C(7, 'a sum of BOOLs', 'data:b[4] indices:i64[1]=0 updates:b[1] -> y:b[4]', 'data:u8[4] indices:i64[1]=0 updates:u8[1] -> y:u8[4]', A={'reduction': 'add'})
o.C(8, 'y is declared with the shape of updates', 'data:q[4] indices:i64[2]=0,1 updates:q[2] -> y:q[2]', 'data:q[4] indices:i64[2]=0,1 updates:q[2] -> y:q[4]')

o = Op('op_shape', 'Shape', file='shape')
o.C(1, 'y is INT32', 'x:q[2,3] -> y:i32[2]', 'x:q[2,3] -> y:i64[2]')
o.C(2, 'from 1 to before -1 is one dimension of three', 'x:q[2,3,4] -> y:i64[3]', 'x:q[2,3,4] -> y:i64[1]', A={'start': 1, 'end': -1})
o.C(2, 'an end before the start gives an empty y', 'x:q[2,3,4] -> y:i64[1]', 'x:q[2,3,4] -> y:i64[0]', A={'start': 2, 'end': 1})

for s, t in [('arg_max', 'ArgMax'), ('arg_min', 'ArgMin')]:
    o = Op(s, t)
    o.C(1, 'y is INT32', 'x:q[3] -> y:i32[1]', 'x:q[3] -> y:i64[1]')
    o.C(2, 'x is BOOL', 'x:b[3] -> y:i64[1]', 'x:u8[3] -> y:i64[1]')
    o.C(3, 'axis is -rank - 1', 'x:q[2,3] -> y:i64', A={'axis': -3}, G={'axis': -2})
    o.C(3, 'axis is the rank', 'x:q[2,3] -> y:i64', A={'axis': 2}, G={'axis': 1})
    o.C(4, 'the axis is empty and y is not', 'x:q[2,0] -> y:i64[2,1]', 'x:q[0,0] -> y:i64[0,1]', A={'axis': 1})
    o.C(4, 'the axis is empty and y is a scalar', 'x:q[0] -> y:i64[]', 'x:q[1] -> y:i64[]', A={'keepdims': 0})
    o.C(5, 'keepdims 0 removes the axis', 'x:q[2,3] -> y:i64[2,1]', 'x:q[2,3] -> y:i64[2]', A={'axis': 1, 'keepdims': 0})

o = Op('top_k', 'TopK')
o.C(1, 'indices is INT32', 'x:q[3] k:i64[1]=2 -> values:q[2] indices:i32[2]', 'x:q[3] k:i64[1]=2 -> values:q[2] indices:i64[2]')
o.C(1, 'values has the storage type of x', 'x:q[3] k:i64[1]=2 -> values:i8[2] indices:i64[2]', 'x:q[3] k:i64[1]=2 -> values:q[2] indices:i64[2]')
o.C(2, 'x is BOOL', 'x:b[3] k:i64[1]=2 -> values:b[2] indices:i64[2]', 'x:u8[3] k:i64[1]=2 -> values:u8[2] indices:i64[2]')
o.C(3, 'axis is -rank - 1', 'x:q[2,3] k:i64[1]=2 -> values:q indices:i64', A={'axis': -3}, G={'axis': -2})
o.C(3, 'axis is the rank', 'x:q[2,3] k:i64[1]=2 -> values:q indices:i64', A={'axis': 2}, G={'axis': 1})
o.C(4, 'k is 0', 'x:q[3] k:i64[1]=0 -> values:q indices:i64', 'x:q[3] k:i64[1]=1 -> values:q indices:i64', run='k')
o.C(4, 'k fits another axis, not the one it counts', 'x:q[4,3] k:i64[1]=4 -> values:q indices:i64', 'x:q[4,3] k:i64[1]=3 -> values:q indices:i64', run='k')
o.C(4, 'k has two values', 'x:q[3] k:i64[2]=2,2 -> values:q indices:i64', 'x:q[3] k:i64[1]=2 -> values:q indices:i64')
o.C(4, 'k is INT32', 'x:q[3] k:i32[1]=2 -> values:q indices:i64', 'x:q[3] k:i64[1]=2 -> values:q indices:i64')
o.C(5, 'indices alone is declared with the size of x', 'x:q[3] k:i64[1]=2 -> values:q[2] indices:i64[3]', 'x:q[3] k:i64[1]=2 -> values:q[2] indices:i64[2]')

# ---- reductions
for s, t, at, bool_ in [('reduce_l1', 'ReduceL1', 18, 0), ('reduce_l2', 'ReduceL2', 18, 0), ('reduce_log_sum', 'ReduceLogSum', 18, 0),
                        ('reduce_log_sum_exp', 'ReduceLogSumExp', 18, 0), ('reduce_max', 'ReduceMax', 18, 1), ('reduce_mean', 'ReduceMean', 18, 0),
                        ('reduce_min', 'ReduceMin', 18, 1), ('reduce_prod', 'ReduceProd', 18, 0), ('reduce_sum', 'ReduceSum', 13, 0),
                        ('reduce_sum_square', 'ReduceSumSquare', 18, 0)]:
    o = Op(s, t, 20 if bool_ else at)
    if bool_:
        o.C(1, 'x is BOOL and y UINT8', 'x:b[3] -> y:u8[1]', 'x:b[3] -> y:b[1]')
    elif 'Log' in t:
        o.C(1, 'plain integers of one type, which the sum without a logarithm takes', 'x:i32[3] -> y:i32[1]', 'x:d[3] -> y:d[1]')
    else:
        o.C(1, 'plain types that differ: the sum would fit a wider one', 'x:i8[3] -> y:i32[1]', 'x:i8[3] -> y:i8[1]')
    o.C(1, 'the output is BOOL, which is no real operand', 'x:q[3] -> y:b[1]', 'x:q[3] -> y:f[1]')
    o.C(2, 'axis 0 is named twice, once from the end', 'x:q[2,3] axes:i64[2]=0,-2 -> y:q', 'x:q[2,3] axes:i64[2]=0,-1 -> y:q', run='axes')
    o.C(2, 'the axis is the rank', 'x:q[2,3] axes:i64[1]=2 -> y:q', 'x:q[2,3] axes:i64[1]=1 -> y:q', run='axes')
    o.C(3, 'axes is an input in the opset before', 'x:q[2,3] axes:i64[1]=1 -> y:q', opset=at - 1, gopset=at)
    o.C(3, 'axes is an attribute in the later form (graph.C6 may name it, too)', 'x:q[2,3] -> y:q', A={'axes': [1]}, opset=at, gopset=at - 1)
    o.C(4, 'with noop_with_empty_axes nothing is reduced', 'x:q[2,3] -> y:q[1,1]', 'x:q[2,3] -> y:q[2,3]', A={'noop_with_empty_axes': 1})
    o.C(4, 'keepdims 0 removes the axis', 'x:q[2,3] axes:i64[1]=1 -> y:q[2,1]', 'x:q[2,3] axes:i64[1]=1 -> y:q[2]', A={'keepdims': 0})
    if s == 'reduce_mean':
        o.C(5, 'means of no elements', 'x:q[2,0] axes:i64[1]=1 -> y:q[2,1]', 'x:q[2,1] axes:i64[1]=1 -> y:q[2,1]')

# ---- Conv and its kin
o = Op('conv', 'Conv')
X, W = 'x:q[1,2,4,4] ', 'w:q[2,2,3,3] '
o.C(1, 'the bias is the plain INT32, as in QLinearConv', X + W + 'b:i32[2] -> y:q[1,2,2,2]', X + W + 'b:q32[2] -> y:q[1,2,2,2]')
o.C(1, 'all but the bias are DOUBLE', 'x:d[1,2,4,4] w:d[2,2,3,3] b:f[2] -> y:d[1,2,2,2]', 'x:d[1,2,4,4] w:d[2,2,3,3] b:d[2] -> y:d[1,2,2,2]')
o.C(1, 'the output is BOOL, which is no real operand', X + W + '-> y:b[1,2,2,2]', X + W + '-> y:f[1,2,2,2]')
o.C(2, 'w has one spatial axis, x two', X + 'w:q[2,2,3] -> y:q', X + 'w:q[2,2,3,1] -> y:q')
o.C(2, 'x and w have no spatial axis', 'x:q[1,2] w:q[2,2] -> y:q', 'x:q[1,2,1] w:q[2,2,1] -> y:q')
o.C(3, 'three output channels in two groups', 'x:q[1,2,4,4] w:q[3,1,3,3] -> y:q', 'x:q[1,2,4,4] w:q[4,1,3,3] -> y:q', A={'group': 2})
o.C(3, 'no output channel: M is 0', 'x:q[1,2,4,4] w:q[0,2,3,3] -> y:q', 'x:q[1,2,4,4] w:q[1,2,3,3] -> y:q')
o.C(3, 'w is for all channels, x has two groups of them', 'x:q[1,4,4,4] w:q[2,4,3,3] -> y:q', 'x:q[1,4,4,4] w:q[2,2,3,3] -> y:q', A={'group': 2})
o.C(3, 'group is 0 and x has no channels', 'x:q[1,0,4,4] w:q[2,2,3,3] -> y:q', 'x:q[1,2,4,4] w:q[2,2,3,3] -> y:q', A={'group': 0}, G={'group': 1})
o.C(4, 'one bias for all channels', X + W + 'b:q32[1] -> y:q[1,2,2,2]', X + W + 'b:q32[2] -> y:q[1,2,2,2]')
o.C(4, 'the bias is a column', X + W + 'b:q32[2,1] -> y:q[1,2,2,2]', X + W + 'b:q32[2] -> y:q[1,2,2,2]')
o.C(5, 'a kernel of no rows', X + 'w:q[2,2,0,3] -> y:q', X + 'w:q[2,2,1,3] -> y:q')
o.C(5, 'kernel_shape is transposed', X + 'w:q[2,2,3,1] -> y:q', A={'kernel_shape': [1, 3]}, G={'kernel_shape': [3, 1]})
o.C(6, 'a pad of -1, which Pad allows', X + W + '-> y:q', A={'pads': [-1, 0, 0, 0]}, G={'pads': [0, 0, 0, 0]})
o.C(6, 'pads for one end only', X + W + '-> y:q', A={'pads': [1, 1]}, G={'pads': [1, 1, 1, 1]})
o.C(6, 'the dilation of an axis with one tap is 0', X + 'w:q[2,2,1,3] -> y:q', A={'dilations': [0, 1]}, G={'dilations': [1, 1]})
o.C(6, 'one stride for two axes', X + W + '-> y:q', A={'strides': [2]}, G={'strides': [2, 2]})
o.C(7, 'auto_pad SAME, as TensorFlow has it', X + W + '-> y:q', A={'auto_pad': 'SAME'}, G={'auto_pad': 'SAME_UPPER'})
o.C(7, 'auto_pad in lower case', X + W + '-> y:q', A={'auto_pad': 'valid'}, G={'auto_pad': 'VALID'})
o.C(8, 'the dilated kernel is longer than x', X + 'w:q[2,2,3,3] -> y:q', A={'dilations': [2, 1]}, G={'dilations': [1, 1]})
o.C(8, 'a row of x is empty and so is y', 'x:q[1,2,0,4] w:q[2,2,1,3] -> y:q', 'x:q[1,2,1,4] w:q[2,2,1,3] -> y:q')
o.C(8, 'with stride 2 sizes are rounded down, not up', X + 'w:q[2,2,1,1] -> y:q[1,2,3,3]', X + 'w:q[2,2,1,1] -> y:q[1,2,2,2]', A={'strides': [2, 2]})

o = Op('conv_integer', 'ConvInteger')
X, W = 'x:u8[1,2,4] ', 'w:i8[2,2,3] '
o.C(1, 'y is UINT32', X + W + '-> y:u32[1,2,2]', X + W + '-> y:i32[1,2,2]')
o.C(1, 'x is INT16', 'x:i16[1,2,4] w:i8[2,2,3] -> y:i32[1,2,2]', 'x:i8[1,2,4] w:i8[2,2,3] -> y:i32[1,2,2]')
o.C(1, 'w is quantized', X + 'w:q[2,2,3] -> y:i32[1,2,2]', X + 'w:i8[2,2,3] -> y:i32[1,2,2]')
o.C(2, 'x_zero_point has a value for each channel; only that of w may', X + W + 'x_zero_point:u8[2] -> y:i32[1,2,2]', X + W + 'x_zero_point:u8[] -> y:i32[1,2,2]')
o.C(2, 'w_zero_point has the type of x', X + W + 'none:none w_zero_point:u8[] -> y:i32[1,2,2]', X + W + 'none:none w_zero_point:i8[] -> y:i32[1,2,2]')
o.C(2, 'w_zero_point has a value for each tap', X + W + 'none:none w_zero_point:i8[3] -> y:i32[1,2,2]', X + W + 'none:none w_zero_point:i8[2] -> y:i32[1,2,2]')
o.C(3, 'three filters in two groups (conv.C3)', X + 'w:i8[3,1,3] -> y:i32', X + 'w:i8[4,1,3] -> y:i32', A={'group': 2})
o.C(3, 'a pad of -1 (conv.C6)', X + W + '-> y:i32', A={'pads': [-1, 0]}, G={'pads': [0, 0]})
o.C(3, 'kernel_shape is not that of w (conv.C5)', X + W + '-> y:i32', A={'kernel_shape': [2]}, G={'kernel_shape': [3]})

o = Op('conv_transpose', 'ConvTranspose')
X, W = 'x:q[1,2,3] ', 'w:q[2,2,2] '
o.C(1, 'the bias is the plain INT32', X + W + 'b:i32[2] -> y:q[1,2,4]', X + W + 'b:q32[2] -> y:q[1,2,4]')
o.C(1, 'all but the bias are DOUBLE', 'x:d[1,2,3] w:d[2,2,2] b:f[2] -> y:d[1,2,4]', 'x:d[1,2,3] w:d[2,2,2] b:d[2] -> y:d[1,2,4]')
o.C(2, 'w has two spatial axes, x one', X + 'w:q[2,2,2,1] -> y:q', 'x:q[1,2,3,1] w:q[2,2,2,1] -> y:q')
o.C(2, 'x and w have no spatial axis', 'x:q[1,2] w:q[2,2] -> y:q', 'x:q[1,2,1] w:q[2,2,1] -> y:q')
o.C(3, 'three input channels in two groups', 'x:q[1,3,3] w:q[3,1,2] -> y:q', 'x:q[1,4,3] w:q[4,1,2] -> y:q', A={'group': 2})
o.C(3, 'no output channel', X + 'w:q[2,0,2] -> y:q', X + 'w:q[2,1,2] -> y:q')
o.C(3, 'w is laid out as for Conv', 'x:q[1,2,3] w:q[1,2,2] -> y:q', 'x:q[1,2,3] w:q[2,1,2] -> y:q')
o.C(4, 'the bias is of one group only', X + 'w:q[2,1,2] b:q32[1] -> y:q', X + 'w:q[2,1,2] b:q32[2] -> y:q', A={'group': 2})
o.C(4, 'the bias has a value for each input channel', 'x:q[1,3,3] w:q[3,2,2] b:q32[3] -> y:q', 'x:q[1,3,3] w:q[3,2,2] b:q32[2] -> y:q')
o.C(5, 'a kernel of no taps', X + 'w:q[2,2,0] -> y:q', X + 'w:q[2,2,1] -> y:q')
o.C(5, 'kernel_shape is not that of w', X + W + '-> y:q', A={'kernel_shape': [3]}, G={'kernel_shape': [2]})
o.C(6, 'output_padding is as much as the stride and the dilation', X + W + '-> y:q', A={'strides': [2], 'dilations': [2], 'output_padding': [2]},
    G={'strides': [2], 'dilations': [3], 'output_padding': [2]})
o.C(6, 'output_shape has the batch and the channels, too', X + W + '-> y:q', A={'output_shape': [1, 2, 4]}, G={'output_shape': [4]})
o.C(6, 'a pad of -1', X + W + '-> y:q', A={'pads': [0, -1]}, G={'pads': [0, 1]})
o.C(7, 'auto_pad in lower case', X + W + '-> y:q', A={'auto_pad': 'same_lower'}, G={'auto_pad': 'SAME_LOWER'})
o.C(8, 'x is empty, though the formula gives y a size of 1', 'x:q[1,2,0] w:q[2,2,2] -> y:q', 'x:q[1,2,1] w:q[2,2,2] -> y:q')
o.C(8, 'padding removes all', X + W + '-> y:q', A={'pads': [2, 2]}, G={'pads': [2, 1]})
o.C(8, 'y is declared with the size of a product of size and stride', X + 'w:q[2,2,1] -> y:q[1,2,6]', X + 'w:q[2,2,1] -> y:q[1,2,5]', A={'strides': [2]})

# ---- pooling
def pool(s, t, opset, plain=False):
    o = Op(s, t, opset)
    x = 'x:q[1,1,4,4] -> '
    o.C(1, 'the output is BOOL, which is no real operand', x + 'y:b[1,1,3,3]', x + 'y:f[1,1,3,3]', A={'kernel_shape': [2, 2]})
    if plain:
        o.C(1, 'x is the plain INT8, y quantized', 'x:i8[1,1,4] -> y:q[1,1,3]', 'x:i8[1,1,4] -> y:i8[1,1,3]', A={'kernel_shape': [2]})
    else:
        o.C(1, 'plain integers of one type', 'x:i8[1,1,4] -> y:i8[1,1,3]', 'x:d[1,1,4] -> y:d[1,1,3]', A={'kernel_shape': [2]})
    o.C(2, 'x has no spatial axis; kernel_shape cannot help it', 'x:q[4,4] -> y:q', 'x:q[1,4,4] -> y:q', A={'kernel_shape': [2]})
    o.C(3, 'one size of a kernel for two axes', x + 'y:q', A={'kernel_shape': [2]}, G={'kernel_shape': [2, 2]})
    o.C(3, 'three sizes of a kernel for two axes', x + 'y:q', A={'kernel_shape': [2, 2, 1]}, G={'kernel_shape': [2, 2]})
    if s == 'average_pool':
        o.C(4, 'the two taps of the only window lie before and behind x', 'x:q[1,1,2] -> y:q', A={'kernel_shape': [2], 'dilations': [3], 'pads': [1, 1]},
            G={'kernel_shape': [2], 'dilations': [3], 'pads': [1, 1], 'count_include_pad': 1}, opset=19)
        o.C(4, 'a pad as large as the kernel, which counts', 'x:q[1,1,4] -> y:q', A={'kernel_shape': [2], 'pads': [2, 0], 'count_include_pad': 1},
            G={'kernel_shape': [2], 'pads': [1, 0], 'count_include_pad': 1})
    else:
        o.C(4, 'a pad as large as the kernel, though the dilated kernel is larger', 'x:q[1,1,4] -> y:q', A={'kernel_shape': [2], 'dilations': [2], 'pads': [2, 0]},
            G={'kernel_shape': [2], 'dilations': [2], 'pads': [1, 0]})
    o.C(4, 'a stride of 0 along an axis with one window', 'x:q[1,1,2] -> y:q', A={'kernel_shape': [2], 'strides': [0]}, G={'kernel_shape': [2], 'strides': [1]})
    o.C(4, 'pads for one end only', x + 'y:q', A={'kernel_shape': [2, 2], 'pads': [1, 1]}, G={'kernel_shape': [2, 2], 'pads': [1, 1, 1, 1]})
    o.C(5, 'auto_pad SAME, as TensorFlow has it', x + 'y:q', A={'kernel_shape': [2, 2], 'auto_pad': 'SAME'}, G={'kernel_shape': [2, 2], 'auto_pad': 'SAME_UPPER'})
    o.C(6, 'the window that ceil_mode adds begins in the end padding and is dropped', 'x:q[1,1,3] -> y:q[1,1,2]', 'x:q[1,1,3] -> y:q[1,1,1]',
        A={'kernel_shape': [2], 'strides': [3], 'pads': [0, 1], 'ceil_mode': 1})
    o.C(6, 'the kernel is longer than x', 'x:q[1,1,2] -> y:q', 'x:q[1,1,3] -> y:q', A={'kernel_shape': [3]})
    return o
o = pool('average_pool', 'AveragePool', 17)
o = pool('lp_pool', 'LpPool', 18)
o.C(7, 'p is 65', 'x:q[1,1,2] -> y:q', A={'kernel_shape': [2], 'p': 65}, G={'kernel_shape': [2], 'p': 64})
o.C(7, 'p is 0', 'x:q[1,1,2] -> y:q', A={'kernel_shape': [2], 'p': 0}, G={'kernel_shape': [2], 'p': 1})
o = pool('max_pool', 'MaxPool', 17, plain=True)
o.C(7, 'indices is INT32', 'x:q[1,1,4] -> y:q[1,1,3] indices:i32[1,1,3]', 'x:q[1,1,4] -> y:q[1,1,3] indices:i64[1,1,3]', A={'kernel_shape': [2]})
o.C(8, 'storage_order is 2', 'x:q[1,1,4] -> y:q[1,1,3] indices:i64[1,1,3]', A={'kernel_shape': [2], 'storage_order': 2}, G={'kernel_shape': [2], 'storage_order': 1})
o.C(8, 'storage_order is -1, and no indices are asked for', 'x:q[1,1,4] -> y:q[1,1,3]', A={'kernel_shape': [2], 'storage_order': -1}, G={'kernel_shape': [2], 'storage_order': 0})

for s, t in [('global_average_pool', 'GlobalAveragePool'), ('global_max_pool', 'GlobalMaxPool')]:
    o = Op(s, t)
    o.C(1, 'the output is BOOL, which is no real operand', 'x:q[1,2,3] -> y:b[1,2,1]', 'x:q[1,2,3] -> y:f[1,2,1]')
    o.C(1, 'plain integers of one type', 'x:i8[1,2,3] -> y:i8[1,2,1]', 'x:d[1,2,3] -> y:d[1,2,1]')
    o.C(2, 'x has no spatial axis', 'x:q[2,3] -> y:q', 'x:q[1,2,3] -> y:q')
    if s == 'global_max_pool':
        o.C(3, 'there is no batch', 'x:q[0,2,3] -> y:q', 'x:q[1,2,3] -> y:q')
        o.C(3, 'a spatial axis is empty', 'x:q[1,2,3,0] -> y:q', 'x:q[1,2,3,1] -> y:q')
    else:
        o.C(3, 'one of two spatial axes is empty', 'x:q[1,2,3,0] -> y:q', 'x:q[0,2,3,1] -> y:q')
    o.C(4, 'the spatial axes do not go', 'x:q[1,2,3,2] -> y:q[1,2]', 'x:q[1,2,3,2] -> y:q[1,2,1,1]')

# ---- products of matrices
o = Op('mat_mul', 'MatMul')
o.C(1, 'b is the plain INT8', 'a:q[2,3] b:i8[3,2] -> y:q[2,2]', 'a:q[2,3] b:q[3,2] -> y:q[2,2]')
o.C(1, 'the sum of plain INT8 is declared as INT32', 'a:i8[2,3] b:i8[3,2] -> y:i32[2,2]', 'a:i8[2,3] b:i8[3,2] -> y:i8[2,2]')
o.C(1, 'the output is BOOL, which is no real operand', 'a:h[2,3] b:q[3,2] -> y:b[2,2]', 'a:h[2,3] b:q[3,2] -> y:f[2,2]')
o.C(2, 'b is a scalar', 'a:q[2,1] b:q[] -> y:q', 'a:q[2,1] b:q[1] -> y:q')
o.C(3, 'the column b has as many elements as a has rows', 'a:q[2,3] b:q[2] -> y:q', 'a:q[2,3] b:q[3] -> y:q')
o.C(3, 'an inner dimension of 1 is not broadcast', 'a:q[2,1] b:q[3,2] -> y:q', 'a:q[2,1] b:q[1,2] -> y:q')
o.C(4, 'batches of 2 and 3', 'a:q[2,1,3] b:q[3,3,1] -> y:q', 'a:q[2,1,3] b:q[1,3,1] -> y:q')
o.C(5, 'the axis of a row is removed from the result', 'a:q[3] b:q[3,2] -> y:q[1,2]', 'a:q[3] b:q[3,2] -> y:q[2]')

o = Op('mat_mul_integer', 'MatMulInteger')
o.C(1, 'y is UINT32', 'A:u8[2,3] B:u8[3,2] -> y:u32[2,2]', 'A:u8[2,3] B:u8[3,2] -> y:i32[2,2]')
o.C(1, 'A is INT16', 'A:i16[2,3] B:i8[3,2] -> y:i32[2,2]', 'A:i8[2,3] B:i8[3,2] -> y:i32[2,2]')
o.C(2, 'a_zero_point has a value for each column of A, not row', 'A:u8[2,3] B:u8[3,4] a_zero_point:u8[3] -> y:i32[2,4]', 'A:u8[2,3] B:u8[3,4] a_zero_point:u8[2] -> y:i32[2,4]')
o.C(2, 'b_zero_point has the type of A', 'A:u8[2,3] B:i8[3,4] none:none b_zero_point:u8[] -> y:i32[2,4]', 'A:u8[2,3] B:i8[3,4] none:none b_zero_point:i8[] -> y:i32[2,4]')
o.C(2, 'b_zero_point of rank 2 has a value for each row of B', 'A:u8[2,3] B:u8[3,4] none:none b_zero_point:u8[3,1] -> y:i32[2,4]', 'A:u8[2,3] B:u8[3,4] none:none b_zero_point:u8[1,4] -> y:i32[2,4]')
o.C(3, 'batches of 2 and 3', 'A:u8[2,1,3] B:u8[3,3,1] -> y:i32', 'A:u8[2,1,3] B:u8[1,3,1] -> y:i32')
o.C(3, 'B is a scalar', 'A:u8[2,1] B:u8[] -> y:i32', 'A:u8[2,1] B:u8[1] -> y:i32')
o.C(3, 'inner dimensions of 3 and 2', 'A:u8[2,3] B:u8[2,3] -> y:i32', 'A:u8[2,3] B:u8[3,2] -> y:i32')

o = Op('gemm', 'Gemm')
o.C(1, 'C is the plain INT32', 'A:q[2,3] B:q[3,2] C:i32[2] -> y:q[2,2]', 'A:q[2,3] B:q[3,2] C:q32[2] -> y:q[2,2]')
o.C(1, 'A and B are plain INT8, C and y INT32', 'A:i8[2,3] B:i8[3,2] C:i32[2] -> y:i32[2,2]', 'A:i32[2,3] B:i32[3,2] C:i32[2] -> y:i32[2,2]')
o.C(1, 'the output is BOOL, which is no real operand', 'A:q[2,3] B:q[3,2] -> y:b[2,2]', 'A:q[2,3] B:q[3,2] -> y:f[2,2]')
o.C(2, 'A has a batch of one', 'A:q[1,2,3] B:q[3,2] -> y:q', 'A:q[2,3] B:q[3,2] -> y:q')
o.C(2, 'B is a column of rank 1', 'A:q[2,3] B:q[3] -> y:q', 'A:q[2,3] B:q[3,1] -> y:q')
o.C(3, 'the inner dimensions agree without transB only', 'A:q[2,3] B:q[3,2] -> y:q', A={'transB': 1}, G={'transB': 0})
o.C(4, 'C would enlarge the one row of the product', 'A:q[1,3] B:q[3,2] C:q32[2,2] -> y:q', 'A:q[1,3] B:q[3,2] C:q32[1,2] -> y:q')
o.C(4, 'C has a third axis of size 1', 'A:q[2,3] B:q[3,2] C:q32[1,2,2] -> y:q', 'A:q[2,3] B:q[3,2] C:q32[2,2] -> y:q')
o.C(4, 'C has a value for each row, and no axis of columns', 'A:q[2,1] B:q[1,3] C:q32[2] -> y:q', 'A:q[2,1] B:q[1,3] C:q32[2,1] -> y:q')
o.C(5, 'y is declared transposed', 'A:q[3,2] B:q[3,4] -> y:q[4,2]', 'A:q[3,2] B:q[3,4] -> y:q[2,4]', A={'transA': 1})

# ---- softmax, normalization
o = Op('softmax', 'Softmax')
o.C(1, 'the output is BOOL, which is no real operand', 'x:q[3] -> y:b[3]', 'x:q[3] -> y:f[3]')
o.C(1, 'x is the plain INT8, y the quantized type over it', 'x:i8[3] -> y:q[3]', 'x:q[3] -> y:q[3]')
o.C(2, 'axis is -rank - 1', 'x:q[2,3] -> y:q', A={'axis': -3}, G={'axis': -2})
o.C(2, 'axis is the rank, before opset 13, where the sum would be over none', 'x:q[2,3] -> y:q', A={'axis': 2}, G={'axis': 1}, opset=12)
same_shape(o, 3)

o = Op('hardmax', 'Hardmax')
o.C(1, 'y is the plain INT8, as ArgMax has an INT64', 'x:q[3] -> y:i8[3]', 'x:q[3] -> y:q[3]')
o.C(1, 'plain integers of one type, which ArgMax takes', 'x:i32[3] -> y:i32[3]', 'x:d[3] -> y:d[3]')
o.C(2, 'axis is the rank', 'x:q[2,3] -> y:q', A={'axis': 2}, G={'axis': 1})
o.C(2, 'the default axis before opset 13 is 1, which x of rank 1 has not', 'x:q[3] -> y:q', 'x:q[3] -> y:q', opset=12, gopset=13)
same_shape(o, 3)

o = Op('log_softmax', 'LogSoftmax')
o.C(1, 'the output is BOOL, which is no real operand', 'x:q[3] -> y:b[3]', 'x:q[3] -> y:f[3]')
o.C(1, 'plain integers of one type, which Softmax takes', 'x:i32[3] -> y:i32[3]', 'x:d[3] -> y:d[3]')
o.C(2, 'axis is -rank - 1', 'x:q[2,3] -> y:q', A={'axis': -3}, G={'axis': -2})
o.C(2, 'the default axis before opset 13 is 1, which x of rank 1 has not', 'x:q[3] -> y:q', 'x:q[3] -> y:q', opset=12, gopset=13)
same_shape(o, 3)

def epsilon(o, n, bad, ins):
    o.C(n, 'epsilon is an infinity', ins, A={'epsilon': 'inf'}, G={'epsilon': 0.0625})
    o.C(n, 'epsilon is negative, though variance and epsilon together may not be', ins, A={'epsilon': -0.0625}, G={'epsilon': 0.0})

o = Op('batch_normalization', 'BatchNormalization')
c = 'gain:f[2] bias:f[2] mean:f[2] variance:f[2]'
o.C(1, 'all are DOUBLE, which this operator does not take', 'x:d[1,2,2] gain:d[2] bias:d[2] mean:d[2] variance:d[2] -> y:d[1,2,2]', 'x:f[1,2,2] %s -> y:f[1,2,2]' % c)
o.C(1, 'the output is BOOL, which is no real operand', 'x:h[1,2,2] %s -> y:b[1,2,2]' % c, 'x:h[1,2,2] %s -> y:f[1,2,2]' % c)
o.C(1, 'bias is the plain INT32', 'x:q[1,2,2] gain:q[2] bias:i32[2] mean:q[2] variance:q[2] -> y:q[1,2,2]', 'x:q[1,2,2] gain:q[2] bias:q32[2] mean:q[2] variance:q[2] -> y:q[1,2,2]')
o.C(5, 'training, which the text does not define', 'x:q[1,2,2] %s -> y:q[1,2,2] running_mean:f[2] running_var:f[2]' % c,
    'x:q[1,2,2] %s -> y:q[1,2,2]' % c, A={'training_mode': 1}, G={'training_mode': 0})
o.C(2, 'x of rank 1 has one channel, not one for each element', 'x:f[2] %s -> y:f[2]' % c, 'x:f[2] gain:f[1] bias:f[1] mean:f[1] variance:f[1] -> y:f[2]')
o.C(2, 'variance is one for all channels', 'x:f[1,2,2] gain:f[2] bias:f[2] mean:f[2] variance:f[1] -> y:f[1,2,2]', 'x:f[1,2,2] %s -> y:f[1,2,2]' % c)
epsilon(o, 3, None, 'x:q[1,2,2] %s -> y:q[1,2,2]' % c)
o.C(4, 'y is declared with channels last', 'x:q[1,2,3] %s -> y:q[1,3,2]' % c, 'x:q[1,2,3] %s -> y:q[1,2,3]' % c)

o = Op('instance_normalization', 'InstanceNormalization')
c = 'gain:f[2] bias:f[2]'
o.C(1, 'all are DOUBLE, which this operator does not take', 'x:d[1,2,3] gain:d[2] bias:d[2] -> y:d[1,2,3]', 'x:f[1,2,3] %s -> y:f[1,2,3]' % c)
o.C(1, 'the output is BOOL, which is no real operand', 'x:h[1,2,3] %s -> y:b[1,2,3]' % c, 'x:h[1,2,3] %s -> y:f[1,2,3]' % c)
o.C(2, 'x has no spatial axis', 'x:q[1,2] %s -> y:q[1,2]' % c, 'x:q[1,2,1] %s -> y:q[1,2,1]' % c)
o.C(3, 'one bias for all channels', 'x:q[1,2,3] gain:f[2] bias:f[1] -> y:q[1,2,3]', 'x:q[1,2,3] gain:f[2] bias:f[2] -> y:q[1,2,3]')
o.C(3, 'gain is laid out to broadcast over the spatial axis', 'x:q[1,2,3] gain:f[2,1] bias:f[2] -> y:q[1,2,3]', 'x:q[1,2,3] gain:f[2] bias:f[2] -> y:q[1,2,3]')
epsilon(o, 4, None, 'x:q[1,2,3] %s -> y:q[1,2,3]' % c)
o.C(5, 'y is declared with channels last', 'x:q[1,2,3] %s -> y:q[1,3,2]' % c, 'x:q[1,2,3] %s -> y:q[1,2,3]' % c)

o = Op('group_normalization', 'GroupNormalization', 21)
c = 'gain:f[4] bias:f[4]'
A = {'num_groups': 2}
o.C(1, 'all are DOUBLE, which this operator does not take', 'x:d[1,4,3] gain:d[4] bias:d[4] -> y:d[1,4,3]', 'x:f[1,4,3] %s -> y:f[1,4,3]' % c, A=A)
o.C(1, 'the output is BOOL, which is no real operand', 'x:h[1,4,3] %s -> y:b[1,4,3]' % c, 'x:h[1,4,3] %s -> y:f[1,4,3]' % c, A=A)
o.C(2, 'x has no channels', 'x:q[4] %s -> y:q[4]' % c, 'x:q[1,4] %s -> y:q[1,4]' % c, A=A)
o.C(3, 'num_groups is 0', 'x:q[1,4,3] %s -> y:q[1,4,3]' % c, A={'num_groups': 0}, G={'num_groups': 1})
o.C(3, 'num_groups divides all elements of an image, not the channels', 'x:q[1,4,3] %s -> y:q[1,4,3]' % c, A={'num_groups': 3}, G={'num_groups': 4})
o.C(3, 'num_groups is -2', 'x:q[1,4,3] %s -> y:q[1,4,3]' % c, A={'num_groups': -2}, G={'num_groups': 2})
o.C(4, 'a gain and a bias for each group', 'x:q[1,4,3] gain:f[2] bias:f[2] -> y:q[1,4,3]', 'x:q[1,4,3] %s -> y:q[1,4,3]' % c, A=A)
o.C(4, 'bias is laid out to broadcast over the spatial axis', 'x:q[1,4,3] gain:f[4] bias:f[4,1] -> y:q[1,4,3]', 'x:q[1,4,3] %s -> y:q[1,4,3]' % c, A=A)
o.C(5, 'epsilon is an infinity', 'x:q[1,4,3] %s -> y:q[1,4,3]' % c, A=dict(A, epsilon='inf'), G=dict(A, epsilon=0.0625))
o.C(5, 'epsilon is negative', 'x:q[1,4,3] %s -> y:q[1,4,3]' % c, A=dict(A, epsilon=-0.0625), G=dict(A, epsilon=0.0))
o.C(6, 'y is declared with channels last', 'x:q[1,4,3] %s -> y:q[1,3,4]' % c, 'x:q[1,4,3] %s -> y:q[1,4,3]' % c, A=A)

for s, t, opset in [('layer_normalization', 'LayerNormalization', 17), ('rms_normalization', 'RMSNormalization', 23)]:
    o = Op(s, t, opset)
    o.C(1, 'all are DOUBLE, which this operator does not take', 'x:d[2,3] gain:d[3] -> y:d[2,3]', 'x:f[2,3] gain:f[3] -> y:f[2,3]')
    o.C(1, 'the output is BOOL, which is no real operand', 'x:h[2,3] gain:h[3] -> y:b[2,3]', 'x:h[2,3] gain:h[3] -> y:f[2,3]')
    if s == 'layer_normalization':
        o.C(1, 'Mean is DOUBLE', 'x:q[2,3] gain:f[3] none:none -> y:q[2,3] Mean:d[2,1]', 'x:q[2,3] gain:f[3] none:none -> y:q[2,3] Mean:f[2,1]')
    o.C(2, 'axis is -rank - 1', 'x:q[2,3] gain:f[3] -> y:q[2,3]', A={'axis': -3}, G={'axis': -2})
    o.C(2, 'axis is the rank', 'x:q[2,3] gain:f[3] -> y:q[2,3]', A={'axis': 2}, G={'axis': 1})
    o.C(3, 'gain broadcasts with x but enlarges it', 'x:q[1,3] gain:f[2,3] -> y:q', 'x:q[1,3] gain:f[1,3] -> y:q')
    if s == 'layer_normalization':
        o.C(3, 'bias has an axis of size 1 more than x', 'x:q[2,3] gain:f[3] bias:f[1,2,3] -> y:q', 'x:q[2,3] gain:f[3] bias:f[2,3] -> y:q')
    else:
        o.C(3, 'gain has an axis of size 1 more than x', 'x:q[2,3] gain:f[1,2,3] -> y:q', 'x:q[2,3] gain:f[2,3] -> y:q')
    epsilon(o, 4, None, 'x:q[2,3] gain:f[3] -> y:q[2,3]')
    o.C(5, 'y is declared with the shape of the group alone', 'x:q[1,3] gain:f[3] -> y:q[3]', 'x:q[1,3] gain:f[3] -> y:q[1,3]')

# ---- Attention, GRU, LSTM
o = Op('attention', 'Attention', 23)
B = 'Q:q[1,2,3,4] K:q[1,2,5,4] V:q[1,2,5,3] '
Y = '-> Y:q[1,2,3,3]'
D = 'Q:d[1,2,3,4] K:d[1,2,5,4] V:d[1,2,5,3] '
o.C(1, 'all are DOUBLE but the mask, which is FLOAT', D + 'attn_mask:f[3,5] -> Y:d[1,2,3,3]', D + 'attn_mask:b[3,5] -> Y:d[1,2,3,3]')
o.C(1, 'the output is BOOL, which is no real operand', B + '-> Y:b[1,2,3,3]', B + '-> Y:f[1,2,3,3]')
o.C(1, 'the mask is UINT8, of zeros and ones', B + 'attn_mask:u8[1,5]=1,1,0,1,1 ' + Y, B + 'attn_mask:b[1,5]=1,1,0,1,1 ' + Y)
o.C(9, 'a window, which the text does not define yet', B + Y, A={'left_window_size': 1}, G={'left_window_size': -1}, opset=28)
o.C(2, 'softmax_precision is the code of INT64', B + Y, A={'softmax_precision': 7}, G={'softmax_precision': 11})
o.C(2, 'softcap is negative', B + Y, A={'softcap': -0.5}, G={'softcap': 0.5})
o.C(2, 'scale is an infinity', B + Y, A={'scale': 'inf'}, G={'scale': 0.5})
o.C(2, 'is_causal is 2', B + Y, A={'is_causal': 2}, G={'is_causal': 1})
o.C(2, 'qk_matmul_output_mode is 4, and the output is not asked for', B + Y, A={'qk_matmul_output_mode': 4}, G={'qk_matmul_output_mode': 3})
o.C(3, 'of rank 4 there are two heads, q_num_heads says one', B + Y, A={'q_num_heads': 1}, G={'q_num_heads': 2})
o.C(3, 'of rank 3, the number of heads of K and V is not given', 'Q:q[1,3,8] K:q[1,5,8] V:q[1,5,6] -> Y:q[1,3,6]', A={'q_num_heads': 2}, G={'q_num_heads': 2, 'kv_num_heads': 2})
o.C(3, 'of rank 3, the heads do not divide the last size of V', 'Q:q[1,3,8] K:q[1,5,8] V:q[1,5,5] -> Y:q', 'Q:q[1,3,8] K:q[1,5,8] V:q[1,5,6] -> Y:q', A={'q_num_heads': 2, 'kv_num_heads': 2})
o.C(3, 'heads have no elements in Q and K', 'Q:q[1,2,3,0] K:q[1,2,5,0] V:q[1,2,5,3] ' + Y, 'Q:q[1,2,3,1] K:q[1,2,5,1] V:q[1,2,5,3] ' + Y, A={'scale': 1.0})
o.C(4, 'three heads of Q meet two of K', 'Q:q[1,3,3,4] K:q[1,2,5,4] V:q[1,2,5,3] -> Y:q', 'Q:q[1,4,3,4] K:q[1,2,5,4] V:q[1,2,5,3] -> Y:q')
o.C(4, 'a batch of 1 of K and V is not broadcast', 'Q:q[2,2,3,4] K:q[1,2,5,4] V:q[1,2,5,3] -> Y:q', 'Q:q[1,2,3,4] K:q[1,2,5,4] V:q[1,2,5,3] -> Y:q')
o.C(4, 'K and V have lengths 5 and 4', 'Q:q[1,2,3,4] K:q[1,2,5,4] V:q[1,2,4,3] -> Y:q', 'Q:q[1,2,3,4] K:q[1,2,5,4] V:q[1,2,5,3] -> Y:q')
o.C(5, 'past_key and past_value have lengths 2 and 3', B + 'm:none past_key:q[1,2,2,4] past_value:q[1,2,3,3] ' + Y, B + 'm:none past_key:q[1,2,2,4] past_value:q[1,2,2,3] ' + Y)
o.C(5, 'past_key is given alone', B + 'm:none past_key:q[1,2,2,4] ' + Y, B + Y)
o.C(5, 'past_value has the head_size of K', B + 'm:none past_key:q[1,2,2,4] past_value:q[1,2,2,4] ' + Y, B + 'm:none past_key:q[1,2,2,4] past_value:q[1,2,2,3] ' + Y)
o.C(6, 'the mask would enlarge the batch', B + 'attn_mask:b[2,1,3,5] -> Y:q', B + 'attn_mask:b[1,1,3,5] -> Y:q')
o.C(6, 'the mask leaves out the past key', B + 'attn_mask:f[3,5] past_key:q[1,2,1,4] past_value:q[1,2,1,3] ' + Y, B + 'attn_mask:f[3,6] past_key:q[1,2,1,4] past_value:q[1,2,1,3] ' + Y)
o.C(6, 'a shorter last axis before opset 24', B + 'attn_mask:b[3,4] ' + Y, opset=23, gopset=24)
o.C(7, 'a length is one more than K has', B + 'm:none pk:none pv:none nonpad_kv_seqlen:i64[1]=6 ' + Y, B + 'm:none pk:none pv:none nonpad_kv_seqlen:i64[1]=5 ' + Y, opset=24, run='nonpad_kv_seqlen')
o.C(7, 'given beside past_key', B + 'm:none past_key:q[1,2,1,4] past_value:q[1,2,1,3] nonpad_kv_seqlen:i64[1]=5 ' + Y, B + 'm:none pk:none pv:none nonpad_kv_seqlen:i64[1]=5 ' + Y, opset=24)
o.C(7, 'two lengths for one batch', B + 'm:none pk:none pv:none nonpad_kv_seqlen:i64[2]=5,5 ' + Y, B + 'm:none pk:none pv:none nonpad_kv_seqlen:i64[1]=5 ' + Y, opset=24)
o.C(8, 'present_key is declared without the past', B + 'm:none past_key:q[1,2,2,4] past_value:q[1,2,2,3] -> Y:q[1,2,3,3] present_key:q[1,2,5,4] present_value:q[1,2,7,3]',
    B + 'm:none past_key:q[1,2,2,4] past_value:q[1,2,2,3] -> Y:q[1,2,3,3] present_key:q[1,2,7,4] present_value:q[1,2,7,3]')
o.C(8, 'Y is declared with the head_size of Q', B + '-> Y:q[1,2,3,4]', B + Y)
o.C(8, 'present_value of rank 3 where Q, K, V have rank 3; it always has rank 4', 'Q:q[1,3,8] K:q[1,5,8] V:q[1,5,6] -> Y:q[1,3,6] present_key:q[1,2,5,4] present_value:q[1,5,6]',
    'Q:q[1,3,8] K:q[1,5,8] V:q[1,5,6] -> Y:q[1,3,6] present_key:q[1,2,5,4] present_value:q[1,2,5,3]', A={'q_num_heads': 2, 'kv_num_heads': 2})

for s, t, g, n in [('gru', 'GRU', 3, 2), ('lstm', 'LSTM', 4, 3)]:
    o = Op(s, t, 14)
    acts = ['Sigmoid', 'Tanh', 'Tanh'][:n]
    def rnn(T='q', W=None, R=None, Bt=None, lens=None, h=None, c=None, Pp=None, Y='Y:q[3,1,1,2]', X='3,1,2', BT=None):
        out = 'X:%s[%s] W:%s[%s] R:%s[%s]' % (T, X, T, W or '1,%d,2' % (2 * g), T, R or '1,%d,2' % (2 * g))
        tail = [('B', '%s[%s]' % (BT or T, Bt) if Bt else None), ('sequence_lens', lens), ('initial_h', h and '%s[%s]' % (T, h))]
        if s == 'lstm': tail += [('initial_c', c and '%s[%s]' % (T, c)), ('P', Pp and '%s[%s]' % (T, Pp))]
        while tail and tail[-1][1] is None: tail.pop()
        return out + ''.join(' %s:%s' % (k, v or 'none') for k, v in tail) + ' -> ' + Y
    nb = 4 * g
    o.C(1, 'B is FLOAT, all others DOUBLE', rnn('d', Bt='1,%d' % nb, BT='f', Y='Y:d[3,1,1,2]'), rnn('d', Bt='1,%d' % nb, Y='Y:d[3,1,1,2]'))
    o.C(1, 'Y_h alone is BOOL, which is no real operand', rnn(Y='Y:q[3,1,1,2] Y_h:b[1,1,2]'), rnn(Y='Y:q[3,1,1,2] Y_h:f[1,1,2]'))
    o.C(1, 'B is the plain INT32', rnn(Bt='1,%d' % nb, BT='i32'), rnn(Bt='1,%d' % nb, BT='q32'))
    o.C(2, 'hidden is 0', rnn(W='1,0,2', R='1,0,0', Y='Y:q'), rnn(W='1,%d,2' % g, R='1,%d,1' % g, Y='Y:q'))
    o.C(2, 'one direction of weights for two', rnn(Y='Y:q'), rnn(W='2,%d,2' % (2 * g), R='2,%d,2' % (2 * g), Y='Y:q'), A={'direction': 'bidirectional'})
    o.C(2, 'R has as many columns as X has inputs, not as hidden', rnn(X='3,1,3', W='1,%d,3' % (2 * g), R='1,%d,3' % (2 * g), Y='Y:q'), rnn(X='3,1,3', W='1,%d,3' % (2 * g), Y='Y:q'))
    o.C(3, 'hidden_size is the number of rows of W', rnn(), A={'hidden_size': 2 * g}, G={'hidden_size': 2})
    o.C(4, 'a length is one more than there are steps', rnn(lens='i32[1]=4'), rnn(lens='i32[1]=3'), run='sequence_lens')
    o.C(4, 'a length is -1', rnn(lens='i32[1]=-1'), rnn(lens='i32[1]=0'), run='sequence_lens')
    o.C(4, 'sequence_lens is INT64', rnn(lens='i64[1]=2'), rnn(lens='i32[1]=2'))
    o.C(4, 'one length for two sequences', rnn(X='3,2,2', lens='i32[1]=2', Y='Y:q'), rnn(X='3,2,2', lens='i32[2]=2,3', Y='Y:q'))
    o.C(5, 'with layout 1 the batch of initial_h comes first', rnn(X='2,3,2', h='1,2,2', Y='Y:q'), rnn(X='2,3,2', h='2,1,2', Y='Y:q'), A={'layout': 1})
    o.C(5, 'B holds Wb without Rb', rnn(Bt='1,%d' % (2 * g)), rnn(Bt='1,%d' % nb))
    if s == 'lstm':
        o.C(5, 'P has a part for each of four gates', rnn(Pp='1,8'), rnn(Pp='1,6'))
        o.C(5, 'initial_c has the shape of one batch, initial_h is right', rnn(X='3,2,2', h='1,2,2', c='1,1,2', Y='Y:q'), rnn(X='3,2,2', h='1,2,2', c='1,2,2', Y='Y:q'))
    o.C(6, 'clip is 0.0, which elsewhere means none', rnn(), A={'clip': 0.0}, G={'clip': 0.5})
    o.C(6, 'clip is an infinity', rnn(), A={'clip': 'inf'}, G={'clip': 0.5})
    o.C(6, 'layout is 2', rnn(Y='Y:q'), A={'layout': 2}, G={'layout': 1})
    other = 'linear_before_reset' if s == 'gru' else 'input_forget'
    o.C(6, other + ' is -1', rnn(), A={other: -1}, G={other: 1})
    o.C(6, 'direction is backward', rnn(), A={'direction': 'backward'}, G={'direction': 'reverse'})
    two = '2,%d,2' % (2 * g)
    o.C(7, 'activations of one direction for two', rnn(W=two, R=two, Y='Y:q'), A={'direction': 'bidirectional', 'activations': acts}, G={'direction': 'bidirectional', 'activations': acts * 2})
    o.C(7, 'one activation too few', rnn(), A={'activations': acts[:-1]}, G={'activations': acts})
    o.C(8, 'with layout 1 Y has the batch first and the direction behind the steps', rnn(X='2,3,2', Y='Y:q[2,1,3,2]'), rnn(X='2,3,2', Y='Y:q[2,3,1,2]'), A={'layout': 1})
    o.C(8, 'Y_h is declared without the axis of directions', rnn(Y='Y:q[3,1,1,2] Y_h:q[1,2]'), rnn(Y='Y:q[3,1,1,2] Y_h:q[1,1,2]'))

# ---- Resize
o = Op('resize', 'Resize', 19)
S = 'x:q[1,1,2,2] roi:none scales:f[4]=1,1,2,2 -> '
o.C(1, 'the mean of BOOLs', 'x:b[1,1,2,2] roi:none scales:f[4]=1,1,2,2 -> y:b[1,1,4,4]', A={'mode': 'linear'}, G={'mode': 'nearest'})
o.C(1, 'x is DOUBLE, no real operand, in tf_crop_and_resize', 'x:d[2,2] roi:f[4]=0,0,1,1 none:none sizes:i64[2]=4,4 -> y:d[4,4]', A={'coordinate_transformation_mode': 'tf_crop_and_resize'},
    G={'coordinate_transformation_mode': 'half_pixel'})
o.C(1, 'x is quantized, y its storage type', S + 'y:i8[1,1,4,4]', S + 'y:q[1,1,4,4]')
o.C(2, 'not_larger stands beside scales', S + 'y:q', A={'keep_aspect_ratio_policy': 'not_larger'}, G={'keep_aspect_ratio_policy': 'stretch'})
o.C(2, 'a coordinate_transformation_mode of opset 11 that is no more', S + 'y:q', A={'coordinate_transformation_mode': 'tf_half_pixel_for_nn'}, G={'coordinate_transformation_mode': 'half_pixel'})
o.C(2, 'nearest_mode round is none of the four', S + 'y:q', A={'nearest_mode': 'round'}, G={'nearest_mode': 'floor'})
o.C(8, 'antialias, which the text does not define yet', S + 'y:q', A={'antialias': 1}, G={'antialias': 0})
o.C(8, 'mode cubic, which the text does not define yet', S + 'y:q', A={'mode': 'cubic'}, G={'mode': 'linear'})
o.C(2, 'mode bilinear is linear here', S + 'y:q', A={'mode': 'bilinear'}, G={'mode': 'linear'})
o.C(3, 'two axes are named and four scales given', S + 'y:q', 'x:q[1,1,2,2] roi:none scales:f[2]=2,2 -> y:q', A={'axes': [2, 3]})
o.C(3, 'scales and sizes are both given and agree', 'x:q[2] roi:none scales:f[1]=2 sizes:i64[1]=4 -> y:q', 'x:q[2] roi:none scales:f[0]= sizes:i64[1]=4 -> y:q')
o.C(3, 'scales is empty, which is as if it were not given, and nothing else', 'x:q[2] roi:none scales:f[0]= -> y:q', 'x:q[2] roi:none scales:f[1]=2 -> y:q')
o.C(3, 'a scale is an infinity', 'x:q[2] roi:none scales:f[1]=inf -> y:q', 'x:q[2] roi:none scales:f[1]=2 -> y:q', run='scales')
o.C(3, 'a size is -1, the other would do', 'x:q[2,2] roi:none scales:none sizes:i64[2]=-1,4 -> y:q', 'x:q[2,2] roi:none scales:none sizes:i64[2]=1,4 -> y:q', run='sizes')
o.C(3, 'scales is DOUBLE', 'x:q[2] roi:none scales:d[1]=2 -> y:q', 'x:q[2] roi:none scales:f[1]=2 -> y:q')
o.C(4, 'axis 2 is named twice, once from the end', 'x:q[1,1,2,2] roi:none scales:f[2]=2,2 -> y:q', A={'axes': [2, -2]}, G={'axes': [2, -1]})
o.C(4, 'the axis is the rank', 'x:q[2,2] roi:none scales:f[1]=2 -> y:q', A={'axes': [2]}, G={'axes': [1]})
crop = {'coordinate_transformation_mode': 'tf_crop_and_resize'}
o.C(5, 'with scales the end of roi is before its start; with sizes that is a mirror image', 'x:q[3] roi:f[2]=1,0 scales:f[1]=2 -> y:q', 'x:q[3] roi:f[2]=1,0 none:none sizes:i64[1]=6 -> y:q', A=crop, run='roi')
o.C(5, 'no roi', 'x:q[3] roi:none none:none sizes:i64[1]=6 -> y:q', 'x:q[3] roi:f[2]=0,1 none:none sizes:i64[1]=6 -> y:q', A=crop)
o.C(5, 'a value of roi is NaN', 'x:q[3] roi:f[2]=0,nan none:none sizes:i64[1]=6 -> y:q', 'x:q[3] roi:f[2]=0,1 none:none sizes:i64[1]=6 -> y:q', A=crop, run='roi')
o.C(5, 'roi is for all axes where one is named', 'x:q[1,3] roi:f[4]=0,0,1,1 none:none sizes:i64[1]=6 -> y:q', 'x:q[1,3] roi:f[2]=0,1 none:none sizes:i64[1]=6 -> y:q', A=dict(crop, axes=[1]), G=dict(crop, axes=[1]))
o.C(6, 'an empty axis is to get three elements', 'x:q[0,2] roi:none none:none sizes:i64[2]=3,2 -> y:q', 'x:q[0,2] roi:none none:none sizes:i64[2]=0,2 -> y:q', run='sizes')
o.C(7, 'three elements at scale 1.5 are 4, rounded down', 'x:q[3] roi:none scales:f[1]=1.5 -> y:q[5]', 'x:q[3] roi:none scales:f[1]=1.5 -> y:q[4]')
o.C(7, 'with not_larger both axes have the least scale', 'x:q[2,2] roi:none none:none sizes:i64[2]=4,6 -> y:q[4,6]', 'x:q[2,2] roi:none none:none sizes:i64[2]=4,6 -> y:q[4,4]', A={'keep_aspect_ratio_policy': 'not_larger'})

# ---- parameters as inputs
o = Op('dequantize_linear', 'DequantizeLinear')
o.C(1, 'x_scale is FLOAT16 before opset 19', 'x:i8[3] x_scale:h[] x_zero_point:i8[] -> y:h[3]', opset=17, gopset=19)
o.C(1, 'y is FLOAT16, x_scale FLOAT', 'x:i8[3] x_scale:f[] x_zero_point:i8[] -> y:h[3]', 'x:i8[3] x_scale:f[] x_zero_point:i8[] -> y:f[3]')
o.C(1, 'x is INT64', 'x:i64[3] x_scale:f[] -> y:f[3]', 'x:i32[3] x_scale:f[] -> y:f[3]')
o.C(1, 'x is quantized by its own type', 'x:q[3] x_scale:f[] -> y:f[3]', 'x:i8[3] x_scale:f[] -> y:f[3]')
o.C(2, 'the last of three scales is an infinity', 'x:i8[2,3] x_scale:f[3]=1,2,inf -> y:f[2,3]', 'x:i8[2,3] x_scale:f[3]=1,2,4 -> y:f[2,3]')
o.C(3, 'the zero point of a float8 is 1', 'x:f8[3] x_scale:f[] x_zero_point:f8[]=1 -> y:f[3]', 'x:f8[3] x_scale:f[] x_zero_point:f8[]=0 -> y:f[3]', opset=19, run='x_zero_point')
o.C(3, 'x_zero_point has the type of the other sign', 'x:i8[3] x_scale:f[] x_zero_point:u8[] -> y:f[3]', 'x:i8[3] x_scale:f[] x_zero_point:i8[] -> y:f[3]')
o.C(3, 'three scales and one zero point', 'x:i8[2,3] x_scale:f[3] x_zero_point:i8[1] -> y:f[2,3]', 'x:i8[2,3] x_scale:f[3] x_zero_point:i8[3] -> y:f[2,3]')
o.C(4, 'axis defaults to 1, where x has size 3, not 2', 'x:i8[2,3] x_scale:f[2] -> y:f[2,3]', 'x:i8[2,3] x_scale:f[2] -> y:f[2,3]', A={}, G={'axis': 0})
o.C(4, 'two blocks, the last one short, and one scale', 'x:i8[1,4] x_scale:f[1,1] -> y:f[1,4]', 'x:i8[1,4] x_scale:f[1,2] -> y:f[1,4]', A={'axis': 1, 'block_size': 3}, opset=21)
o.C(4, 'axis is the rank', 'x:i8[3,3] x_scale:f[3] -> y:f[3,3]', A={'axis': 2}, G={'axis': -2})
o.C(4, 'scales of rank 2 without block_size', 'x:i8[1,4] x_scale:f[1,4] -> y:f[1,4]', 'x:i8[1,4] x_scale:f[4] -> y:f[1,4]', opset=21)

o = Op('quantize_linear', 'QuantizeLinear')
o.C(1, 'y_scale is FLOAT16 before opset 19', 'x:h[3] y_scale:h[] y_zero_point:u8[] -> y:u8[3]', opset=17, gopset=19)
o.C(1, 'x is DOUBLE', 'x:d[3] y_scale:f[] y_zero_point:u8[] -> y:u8[3]', 'x:f[3] y_scale:f[] y_zero_point:u8[] -> y:u8[3]')
o.C(1, 'x is quantized by its own type', 'x:q32[3] y_scale:f[] y_zero_point:u8[] -> y:u8[3]', 'x:i32[3] y_scale:f[] y_zero_point:u8[] -> y:u8[3]')
o.C(2, 'y_scale is 2^24 + 1, which is no binary32', 'x:i32[3] y_scale:i32[]=16777217 y_zero_point:u8[] -> y:u8[3]', 'x:i32[3] y_scale:i32[]=16777216 y_zero_point:u8[] -> y:u8[3]', opset=23, run='y_scale')
o.C(2, 'the second of two scales is an infinity', 'x:f[1,2] y_scale:f[2]=1,inf -> y:u8[1,2]', 'x:f[1,2] y_scale:f[2]=1,2 -> y:u8[1,2]')
o.C(2, 'the scale is 0', 'x:f[2] y_scale:f[]=0 -> y:u8[2]', 'x:f[2] y_scale:f[]=1 -> y:u8[2]')
o.C(2, 'the second of two scales is below 0', 'x:f[1,2] y_scale:f[2]=1,-1 -> y:u8[1,2]', 'x:f[1,2] y_scale:f[2]=1,2 -> y:u8[1,2]', run='y_scale')
o.C(3, 'the zero point of a float8 is 1', 'x:f[3] y_scale:f[] y_zero_point:f8[]=1 -> y:f8[3]', 'x:f[3] y_scale:f[] y_zero_point:f8[]=0 -> y:f8[3]', opset=19, run='y_zero_point')
o.C(3, 'three scales and one zero point', 'x:f[2,3] y_scale:f[3] y_zero_point:u8[] -> y:u8[2,3]', 'x:f[2,3] y_scale:f[3] y_zero_point:u8[3] -> y:u8[2,3]')
o.C(4, 'axis defaults to 1, where x has size 3, not 2', 'x:f[2,3] y_scale:f[2] -> y:u8[2,3]', 'x:f[2,3] y_scale:f[2] -> y:u8[2,3]', A={}, G={'axis': 0})
o.C(4, 'two blocks, the last one short, and one scale', 'x:f[1,4] y_scale:f[1,1] -> y:u8[1,4]', 'x:f[1,4] y_scale:f[1,2] -> y:u8[1,4]', A={'axis': 1, 'block_size': 3}, opset=21)
o.C(4, 'blocks lie along the axis alone; along the others there is a scale for each element', 'x:f[2,4] y_scale:f[1,2] -> y:u8[2,4]', 'x:f[2,4] y_scale:f[2,2] -> y:u8[2,4]', A={'axis': 1, 'block_size': 2}, opset=21)
o.C(4, 'axis is -rank - 1', 'x:f[3,3] y_scale:f[3] -> y:u8[3,3]', A={'axis': -3}, G={'axis': -2})
o.C(5, 'output_dtype says INT8 and the zero point is UINT8', 'x:f[3] y_scale:f[] y_zero_point:u8[] -> y:u8[3]', A={'output_dtype': 3}, G={'output_dtype': 2}, opset=21)
o.C(5, 'without a zero point and output_dtype y is UINT8', 'x:f[3] y_scale:f[] -> y:i8[3]', 'x:f[3] y_scale:f[] -> y:u8[3]')
o.C(6, 'precision is the code of INT64', 'x:f[3] y_scale:f[] y_zero_point:u8[] -> y:u8[3]', A={'precision': 7}, G={'precision': 11}, opset=23)
o.C(6, 'saturate is 2, and means nothing to an integer', 'x:f[3] y_scale:f[] y_zero_point:u8[] -> y:u8[3]', A={'saturate': 2}, G={'saturate': 0}, opset=19)

o = Op('dynamic_quantize_linear', 'DynamicQuantizeLinear')
Y = '-> y:u8[3] y_scale:f[] y_zero_point:u8[]'
o.C(1, 'y_zero_point is INT8', 'x:f[3] -> y:u8[3] y_scale:f[] y_zero_point:i8[]', 'x:f[3] ' + Y)
o.C(1, 'x is FLOAT16', 'x:h[3] ' + Y, 'x:f[3] ' + Y)
o.C(1, 'y is the quantized type over UINT8', 'x:f[3] -> y:uq[3] y_scale:f[] y_zero_point:u8[]', 'x:f[3] ' + Y)
o.C(2, 'x holds an infinity, which a clamp would take', 'x:f[3]=0,1,-inf ' + Y, 'x:f[3]=0,1,-2 ' + Y, run='x')
o.C(2, 'the range of x is more than the largest binary32, in an arithmetic that takes the difference in binary32', 'x:f[3]=-2.5521177519070385e38,0,2.5521177519070385e38 ' + Y, arith='float32', garith='exact', run='x')
o.C(2, 'x holds a NaN', 'x:f[3]=0,1,nan ' + Y, 'x:f[3]=0,1,2 ' + Y, run='x')

M = 'com.microsoft'
for s, t in [('q_linear_add', 'QLinearAdd'), ('q_linear_mul', 'QLinearMul')]:
    o = Op(s, t, domain=M)
    o.C(1, 'C is of the other sign, and no zero point says it', 'A:u8[2] A_scale:f[] az:none B:u8[2] B_scale:f[] bz:none C_scale:f[] -> C:i8[2]', 'A:u8[2] A_scale:f[] az:none B:u8[2] B_scale:f[] bz:none C_scale:f[] -> C:u8[2]')
    o.C(1, 'all three are INT16', 'A:i16[2] A_scale:f[] az:none B:i16[2] B_scale:f[] bz:none C_scale:f[] -> C:i16[2]', 'A:i8[2] A_scale:f[] az:none B:i8[2] B_scale:f[] bz:none C_scale:f[] -> C:i8[2]')
    o.C(1, 'B is of the other sign, and no zero point says it', 'A:u8[2] A_scale:f[] az:none B:i8[2] B_scale:f[] bz:none C_scale:f[] -> C:u8[2]', 'A:u8[2] A_scale:f[] az:none B:u8[2] B_scale:f[] bz:none C_scale:f[] -> C:u8[2]')
    base = 'A:u8[2] A_scale:f[]%s A_zero_point:%s B:u8[2] B_scale:%s B_zero_point:u8[] C_scale:f[] C_zero_point:u8[] -> C:u8[2]'
    o.C(2, 'a zero point is INT8 beside UINT8', base % ('', 'i8[]', 'f[]'), base % ('', 'u8[]', 'f[]'))
    o.C(2, 'B_scale has a value for each element', base % ('', 'u8[]', 'f[2]'), base % ('', 'u8[]', 'f[]'))
    o.C(2, 'A_scale is NaN', base % ('=nan', 'u8[]', 'f[]'), base % ('=1', 'u8[]', 'f[]'), run='A_scale')
    b = 'A:u8[2,3] A_scale:f[] A_zero_point:u8[] B:u8[%s] B_scale:f[] B_zero_point:u8[] C_scale:f[] C_zero_point:u8[] -> C:u8'
    o.C(3, 'B has as many elements as the first axis of A', b % '2', b % '2,1')

def q1(s, t, x, y, A=None, GA=None, ymin=True, X='x', optional=True):
    """C1 and C2 of the operators of one tensor with its parameters as inputs"""
    o = Op(s, t, domain=M)
    z = optional
    if z:
        o.C(1, 'Y is of the other sign, and no zero point says it', 'X:u8[%s] X_scale:f[] xz:none Y_scale:f[] -> Y:i8[%s]' % (x, y), 'X:u8[%s] X_scale:f[] xz:none Y_scale:f[] -> Y:u8[%s]' % (x, y), A=A)
        o.C(1, 'both are INT16', 'X:i16[%s] X_scale:f[] xz:none Y_scale:f[] -> Y:i16[%s]' % (x, y), 'X:i8[%s] X_scale:f[] xz:none Y_scale:f[] -> Y:i8[%s]' % (x, y), A=A)
    else:
        o.C(1, 'Y is of the other sign; its zero point has the type of X', 'X:u8[%s] X_scale:f[] X_zero_point:u8[] Y_scale:f[] Y_zero_point:u8[] -> Y:i8[%s]' % (x, y),
            'X:u8[%s] X_scale:f[] X_zero_point:u8[] Y_scale:f[] Y_zero_point:u8[] -> Y:u8[%s]' % (x, y), A=A)
        o.C(1, 'all are INT16', 'X:i16[%s] X_scale:f[] X_zero_point:i16[] Y_scale:f[] Y_zero_point:i16[] -> Y:i16[%s]' % (x, y),
            'X:i8[%s] X_scale:f[] X_zero_point:i8[] Y_scale:f[] Y_zero_point:i8[] -> Y:i8[%s]' % (x, y), A=A)
    b = 'X:u8[%s] X_scale:%%s X_zero_point:u8[] Y_scale:%%s Y_zero_point:%%s -> Y:u8[%s]' % (x, y)
    o.C(2, 'Y_zero_point is INT8 beside UINT8', b % ('f[]', 'f[]', 'i8[]'), b % ('f[]', 'f[]', 'u8[]'), A=A)
    o.C(2, 'X_scale has two values', b % ('f[2]', 'f[]', 'u8[]'), b % ('f[]', 'f[]', 'u8[]'), A=A)
    o.C(2, 'Y_scale is an infinity', b % ('f[]', 'f[]=inf', 'u8[]'), b % ('f[]', 'f[]=2', 'u8[]'), A=A, run='Y_scale')
    o.C(2, 'Y_scale is DOUBLE', b % ('f[]', 'd[]', 'u8[]'), b % ('f[]', 'f[]', 'u8[]'), A=A) if False else None
    return o
PZ = 'X_scale:f[] X_zero_point:u8[] Y_scale:f[] Y_zero_point:u8[] -> Y:u8'
o = q1('q_linear_average_pool', 'QLinearAveragePool', '1,2,3', '1,2,2', A={'kernel_shape': [2]})
o.C(3, 'the window that ceil_mode adds begins in the end padding and is dropped (average_pool.C6)', 'X:u8[1,1,3] ' + PZ + '[1,1,2]', 'X:u8[1,1,3] ' + PZ + '[1,1,1]',
    A={'kernel_shape': [2], 'strides': [3], 'pads': [0, 1], 'ceil_mode': 1})
o.C(3, 'a pad as large as the kernel, which counts (average_pool.C4)', 'X:u8[1,1,4] ' + PZ, A={'kernel_shape': [2], 'pads': [2, 0], 'count_include_pad': 1}, G={'kernel_shape': [2], 'pads': [1, 0], 'count_include_pad': 1})
o.C(3, 'auto_pad in lower case (average_pool.C5)', 'X:u8[1,1,4] ' + PZ, A={'kernel_shape': [2], 'auto_pad': 'same_upper'}, G={'kernel_shape': [2], 'auto_pad': 'SAME_UPPER'})
o.C(4, 'channels_last is 1, on a shape that reads alike both ways', 'X:u8[1,3,3,3] ' + PZ + '[1,3,3,3]', A={'kernel_shape': [1, 1], 'channels_last': 1}, G={'kernel_shape': [1, 1], 'channels_last': 0})
o = q1('q_linear_global_average_pool', 'QLinearGlobalAveragePool', '1,2,3', '1,2,1', optional=False)
o.C(3, 'there is no batch', 'X:u8[0,2,3] ' + PZ, 'X:u8[1,2,3] ' + PZ)
o.C(3, 'X has no spatial axis', 'X:u8[2,3] ' + PZ, 'X:u8[1,2,3] ' + PZ)
o.C(4, 'channels_last is 1, on a shape that reads alike both ways', 'X:u8[1,1,1] ' + PZ + '[1,1,1]', A={'channels_last': 1}, G={'channels_last': 0})
o = q1('q_linear_leaky_relu', 'QLinearLeakyRelu', '3', '3', A={'alpha': 0.5})
o.C(3, 'alpha is an infinity', 'X:u8[3] ' + PZ + '[3]', A={'alpha': 'inf'}, G={'alpha': 0.5})
o.C(3, 'alpha is NaN', 'X:u8[3] ' + PZ + '[3]', A={'alpha': 'nan'}, G={'alpha': 0.5})
o = q1('q_linear_sigmoid', 'QLinearSigmoid', '3', '3')
o = Op('q_linear_softmax', 'QLinearSoftmax', domain=M)
sm = {'opset': 13}
T = 'X:%s[3] X_scale:%s X_zero_point:none Y_scale:f[]%s Y_zero_point:%s -> Y:%s[3]'
o.C(1, 'X is UINT8 and Y INT8', T % ('u8', 'f[]', '', 'u8[]', 'i8'), T % ('u8', 'f[]', '', 'u8[]', 'u8'), A=sm)
o.C(1, 'all are INT16', T % ('i16', 'f[]', '', 'i16[]', 'i16'), T % ('i8', 'f[]', '', 'i8[]', 'i8'), A=sm)
o.C(2, 'Y_zero_point is INT8 beside UINT8', T % ('u8', 'f[]', '', 'i8[]', 'u8'), T % ('u8', 'f[]', '', 'u8[]', 'u8'), A=sm)
o.C(2, 'X_scale has a value for each element', T % ('u8', 'f[3]', '', 'u8[]', 'u8'), T % ('u8', 'f[]', '', 'u8[]', 'u8'), A=sm)
o.C(2, 'Y_scale is an infinity', T % ('u8', 'f[]', '=inf', 'u8[]', 'u8'), T % ('u8', 'f[]', '=2', 'u8[]', 'u8'), A=sm, run='Y_scale')
o.C(3, 'opset before 13 has axis 1 as its default, which X of rank 1 has not', T % ('u8', 'f[]', '', 'u8[]', 'u8'), A={'opset': 12}, G={'opset': 13})
o.C(3, 'opset is 0', T % ('u8', 'f[]', '', 'u8[]', 'u8'), A={'opset': 0, 'axis': 0}, G={'opset': 1, 'axis': 0})
o.C(3, 'axis is -rank - 1', T % ('u8', 'f[]', '', 'u8[]', 'u8'), A={'opset': 13, 'axis': -2}, G={'opset': 13, 'axis': -1})

o = Op('q_linear_concat', 'QLinearConcat', domain=M)
T = 'Y_scale:f[] Y_zero_point:%s a:u8[1,2] as:f[]%s az:%s b:i8[%s] bs:%s bz:i8%s -> Y:u8'
ax = {'axis': 1}
o.C(1, 'the zero point of a tensor has the type of Y, not its own', 'Y_scale:f[] Y_zero_point:u8[] a:u8[1,2] as:f[] az:u8[] b:i8[1,2] bs:f[] bz:u8[] -> Y:u8', T % ('u8[]', '', 'u8[]', '1,2', 'f[]', '[]'), A=ax)
o.C(1, 'Y is INT8, its zero point UINT8', 'Y_scale:f[] Y_zero_point:u8[] a:i8[2] as:f[] az:i8[] -> Y:i8', 'Y_scale:f[] Y_zero_point:i8[] a:i8[2] as:f[] az:i8[] -> Y:i8', A={'axis': 0})
o.C(2, 'a zero point has two values', T % ('u8[]', '', 'u8[2]', '1,2', 'f[]', '[]'), T % ('u8[]', '', 'u8[]', '1,2', 'f[]', '[]'), A=ax)
o.C(2, 'the scale of the second tensor is subject to the rule, too: two values', T % ('u8[]', '', 'u8[]', '1,2', 'f[2]', '[]'), T % ('u8[]', '', 'u8[]', '1,2', 'f[]', '[]'), A=ax)
o.C(2, 'a scale is 0', T % ('u8[]', '=0', 'u8[]', '1,2', 'f[]', '[]'), T % ('u8[]', '=1', 'u8[]', '1,2', 'f[]', '[]'), A=ax, run='as')
o.C(3, 'the last zero point is left out', 'Y_scale:f[] Y_zero_point:u8[] a:u8[2] as:f[] az:u8[] b:u8[2] bs:f[] -> Y:u8', 'Y_scale:f[] Y_zero_point:u8[] a:u8[2] as:f[] az:u8[] b:u8[2] bs:f[] bz:u8[] -> Y:u8', A={'axis': 0})
o.C(4, 'off the axis the second tensor has another size', T % ('u8[]', '', 'u8[]', '2,2', 'f[]', '[]'), T % ('u8[]', '', 'u8[]', '1,2', 'f[]', '[]'), A=ax)
o.C(4, 'axis is the rank', T % ('u8[]', '', 'u8[]', '1,2', 'f[]', '[]'), A={'axis': 2}, G={'axis': 1})

o = Op('q_linear_conv', 'QLinearConv')
def qc(x='u8[1,2,4]', xs='f[]', xz='u8[]', w='i8[2,2,3]', ws='f[]', wz='i8[]', ys='f[]', yz='u8[]', b=None, y='u8'):
    return 'x:%s xs:%s xz:%s w:%s ws:%s wz:%s ys:%s yz:%s%s -> y:%s' % (x, xs, xz, w, ws, wz, ys, yz, ' B:' + b if b else '', y)
o.C(1, 'y_zero_point has the type of x, y another', qc(y='i8'), qc(y='i8', yz='i8[]'))
o.C(1, 'B is FLOAT', qc(b='f[2]'), qc(b='i32[2]'))
o.C(1, 'B is the quantized type over INT32', qc(b='q32[2]'), qc(b='i32[2]'))
o.C(2, 'two scales of w and one zero point', qc(ws='f[2]'), qc(ws='f[2]', wz='i8[2]'))
o.C(2, 'the second scale of w is 0', qc(ws='f[2]=1,0', wz='i8[2]'), qc(ws='f[2]=1,2', wz='i8[2]'), run='ws')
o.C(3, 'x has parameters for each channel', qc(xs='f[2]', xz='u8[2]'), qc())
o.C(3, 'w has parameters for each of three taps, and two filters', qc(ws='f[3]', wz='i8[3]'), qc(ws='f[2]', wz='i8[2]'))
o.C(3, 'y has parameters for each channel', qc(ys='f[2]', yz='u8[2]'), qc())
o.C(4, 'one B for two filters', qc(b='i32[1]'), qc(b='i32[2]'))
o.C(4, 'three filters in two groups (conv.C3)', qc(w='i8[3,1,3]'), qc(w='i8[4,1,3]'), A={'group': 2})
o.C(4, 'a pad of -1 (conv.C6)', qc(), A={'pads': [0, -1]}, G={'pads': [0, 0]})

o = Op('q_linear_mat_mul', 'QLinearMatMul', 21)
def qm(a='u8[2,3]', as_='f[]', az='u8[]', b='i8[3,4]', bs='f[]', bz='i8[]', ys='f[]', yz='u8[]', y='u8'):
    return 'a:%s as:%s az:%s b:%s bs:%s bz:%s ys:%s yz:%s -> y:%s' % (a, as_, az, b, bs, bz, ys, yz, y)
o.C(1, 'y_zero_point is UINT8, y INT8', qm(y='i8'), qm(y='i8', yz='i8[]'))
o.C(1, 'a scale is DOUBLE', qm(bs='d[]'), qm(bs='h[]'))
o.C(1, 'a is INT16', qm(a='i16[2,3]', az='i16[]'), qm(a='i8[2,3]', az='i8[]'))
o.C(2, 'the zero point of a float8 is 1', qm(a='f8[2,3]', az='f8[]=1'), qm(a='f8[2,3]', az='f8[]=0'), run='az')
o.C(2, 'two scales of rows and one zero point', qm(as_='f[2]'), qm(as_='f[2]', az='u8[2]'))
o.C(2, 'the last scale of b is an infinity', qm(bs='f[4]=1,1,2,inf', bz='i8[4]'), qm(bs='f[4]=1,1,2,2', bz='i8[4]'), run='bs')
o.C(3, 'a has a scale for each column', qm(as_='f[3]', az='u8[3]'), qm(as_='f[2]', az='u8[2]'))
o.C(3, 'b has a scale for each row, laid out in rank 2', qm(bs='f[3,1]', bz='i8[3,1]'), qm(bs='f[1,4]', bz='i8[1,4]'))
o.C(3, 'a vector has a scale for each element', qm(a='u8[3]', as_='f[3]', az='u8[3]'), qm(a='u8[3]'))
o.C(3, 'y has a scale for each column', qm(ys='f[4]', yz='u8[4]'), qm())
o.C(4, 'batches of 2 and 3', qm(a='u8[2,2,3]', b='i8[3,3,4]'), qm(a='u8[2,2,3]', b='i8[1,3,4]'))
o.C(4, 'b is a scalar', qm(a='u8[2,1]', b='i8[]'), qm(a='u8[2,1]', b='i8[1]'))
o.C(4, 'inner dimensions of 3 and 4', qm(b='i8[4,3]'), qm(b='i8[3,4]'))

o = Op('q_gemm', 'QGemm', domain=M)
def qg(A='u8[2,3]', as_='f[]', az='u8[]', B='i8[3,4]', bs='f[]', bz='i8[]', C='none', ys='f[]', yz='u8[]', y='u8'):
    tail = [] if ys is None else ['ys:' + ys, 'yz:' + yz]
    c = ['C:' + C] if C != 'none' or tail else []
    return ' '.join(['A:' + A, 'as:' + as_, 'az:' + az, 'B:' + B, 'bs:' + bs, 'bz:' + bz] + c + tail) + ' -> y:' + y
o.C(1, 'without y_scale the result is FLOAT', qg(ys=None, y='u8'), qg(ys=None, y='f'))
o.C(1, 'with y_scale the result is no FLOAT', qg(y='f'), qg(y='u8'))
o.C(1, 'C is FLOAT', qg(C='f[4]'), qg(C='i32[4]'))
o.C(2, 'four scales of columns and one zero point', qg(bs='f[4]'), qg(bs='f[4]', bz='i8[4]'))
o.C(2, 'alpha is an infinity', qg(), A={'alpha': 'inf'}, G={'alpha': 0.5})
o.C(2, 'a scale is 0', qg(as_='f[]=0'), qg(as_='f[]=1'), run='as')
o.C(3, 'with transB the columns of B prime are four; B has parameters for its three columns', qg(B='i8[4,3]', bs='f[3]', bz='i8[3]'), qg(B='i8[4,3]', bs='f[4]', bz='i8[4]'), A={'transB': 1})
o.C(3, 'A has parameters for each row', qg(as_='f[2]', az='u8[2]'), qg())
o.C(4, 'C would enlarge the one row of the product', qg(A='u8[1,3]', C='i32[2,4]'), qg(A='u8[1,3]', C='i32[1,4]'))
o.C(4, 'A has a batch of one', qg(A='u8[1,2,3]'), qg(A='u8[2,3]'))
o.C(4, 'the inner dimensions agree without transB only', qg(B='i8[3,4]'), qg(B='i8[3,4]'), A={'transB': 1}, G={'transB': 0})
