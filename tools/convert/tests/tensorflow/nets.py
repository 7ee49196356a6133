"""The networks and single operators of the matrix, by name, with weights of a fixed seed."""
import dataclasses
import zlib

import numpy as np
import tensorflow as tf
import tf_keras


@dataclasses.dataclass
class Net:
    function: object  # of tensors, or a Keras model
    inputs: list      # tf.TensorSpec
    low: float = -2.0
    high: float = 2.0


class Weights:
    """Numbers of a generator that the name seeds, so that one net does not depend on the others."""

    def __init__(self, name):
        self.random = np.random.default_rng(zlib.crc32(name.encode()))

    def __call__(self, *shape, scale=None):
        fan_in = np.prod(shape[:-1]) if len(shape) > 1 else 16
        scale = fan_in ** -0.5 if scale is None else scale
        return tf.constant(self.random.normal(0, scale, shape).astype(np.float32))


def image(height=8, width=8, channels=4):
    return tf.TensorSpec([1, height, width, channels], tf.float32, name="x")


def rows(*shape, name="x", dtype=tf.float32):
    return tf.TensorSpec(list(shape), dtype, name=name)


def convolution(x, w, bias=None, strides=1, padding="SAME", dilations=1):
    y = tf.nn.conv2d(x, w, strides, padding, dilations=dilations)
    return y if bias is None else y + bias


def depthwise(x, w, bias=None, strides=1):
    y = tf.nn.depthwise_conv2d(x, w, [1, strides, strides, 1], "SAME")
    return y if bias is None else y + bias


# Networks: several operators in a row, as models have them.

def cnn(w):
    k1, b1, k2, b2, d, b3 = w(3, 3, 3, 8), w(8), w(3, 3, 8, 16), w(16), w(16, 10), w(10)

    def call(x):
        x = tf.nn.relu(convolution(x, k1, b1, 2))
        x = tf.nn.relu6(convolution(x, k2, b2, 2))
        return tf.nn.softmax(tf.reduce_mean(x, [1, 2]) @ d + b3)
    return Net(call, [image(16, 16, 3)])


def separable(w):
    k, b, d, db, p, pb = w(3, 3, 3, 8), w(8), w(3, 3, 8, 1, scale=0.3), w(8), w(1, 1, 8, 16), w(16)

    def call(x):
        x = tf.nn.relu6(convolution(x, k, b, 2))
        x = tf.nn.relu6(depthwise(x, d, db))
        return convolution(x, p, pb)
    return Net(call, [image(12, 12, 3)])


def residual(w):
    k, b, k2, b2 = w(3, 3, 8, 8), w(8), w(3, 3, 8, 8), w(8)

    def call(x):
        y = tf.nn.relu(convolution(x, k, b))
        return tf.nn.relu(convolution(y, k2, b2) + x)
    return Net(call, [image(8, 8, 8)])


def inception(w):
    k, b, k2, b2 = w(1, 1, 4, 4), w(4), w(3, 3, 4, 6), w(6)

    def call(x):
        parts = [convolution(x, k, b), tf.nn.relu(convolution(x, k2, b2)), tf.nn.max_pool2d(x, 3, 1, "SAME")]
        return tf.nn.avg_pool2d(tf.concat(parts, 3), 2, 2, "VALID")
    return Net(call, [image()])


def squeeze_excite(w):
    k, b, d1, d2 = w(3, 3, 4, 8), w(8), w(1, 1, 8, 2), w(1, 1, 2, 8)

    def call(x):
        x = convolution(x, k, b)
        gate = tf.nn.relu(convolution(tf.reduce_mean(x, [1, 2], keepdims=True), d1))
        return x * tf.sigmoid(convolution(gate, d2))
    return Net(call, [image()])


def mlp(w):
    layers = [(w(64, 32), w(32)), (w(32, 32), w(32)), (w(32, 5), w(5))]

    def call(x):
        for matrix, bias in layers[:-1]:
            x = tf.nn.relu(x @ matrix + bias)
        return x @ layers[-1][0] + layers[-1][1]
    return Net(call, [rows(2, 64)])


def autoencoder(w):
    layers = [(w(64, 32), w(32)), (w(32, 64), w(64))]

    def call(x):
        for matrix, bias in layers:
            x = tf.tanh(x @ matrix + bias)
        return x
    return Net(call, [rows(1, 64)])


def unet(w):
    k, b, k2, b2, t = w(3, 3, 4, 8), w(8), w(3, 3, 8, 8), w(8), w(2, 2, 4, 8, scale=0.3)

    def call(x):
        down = tf.nn.relu(convolution(x, k, b))
        low = tf.nn.relu(convolution(tf.nn.max_pool2d(down, 2, 2, "VALID"), k2, b2))
        up = tf.nn.conv2d_transpose(low, t, [1, 8, 8, 4], 2, "SAME")
        return tf.concat([up, down], 3)
    return Net(call, [image()])


def upsampler(w):
    k, b = w(3, 3, 4, 4), w(4)

    def call(x):
        return convolution(tf.image.resize(x, [16, 16], "bilinear"), k, b)
    return Net(call, [image()])


def attention(w):
    q, k, v, o = w(16, 16), w(16, 16), w(16, 16), w(16, 16)

    def call(x):
        scores = tf.matmul(x @ q, x @ k, transpose_b=True) * 0.25
        return tf.matmul(tf.nn.softmax(scores), x @ v) @ o
    return Net(call, [rows(1, 6, 16)])


def transformer(w):
    gamma, beta, d1, b1, d2 = w(16, scale=0.1) + 1, w(16), w(16, 32), w(32), w(32, 16)

    def call(x):
        mean = tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.math.squared_difference(x, mean), -1, keepdims=True)
        y = (x - mean) * tf.math.rsqrt(variance + 1e-3) * gamma + beta
        return x + tf.nn.gelu(y @ d1 + b1) @ d2
    return Net(call, [rows(1, 4, 16)])


def keyword(w):
    k, b, d, bias = w(4, 3, 1, 8, scale=0.3), w(8), w(8 * 5 * 4, 4), w(4)

    def call(x):
        x = tf.nn.relu(convolution(x, k, b, 2))
        return tf.nn.softmax(tf.reshape(x, [1, 160]) @ d + bias)
    return Net(call, [image(10, 8, 1)])


def lstm(w):
    """A model of Keras 2, of which the converter makes one operator; of a function it makes a WHILE."""
    inputs = tf_keras.Input((5, 6), batch_size=1)
    model = tf_keras.Model(inputs, tf_keras.layers.LSTM(32)(inputs))
    model.set_weights([w(6, 128).numpy(), w(32, 128).numpy(), w(128).numpy()])
    return Net(model, [rows(1, 5, 6)])


def unrolled_gru(w):
    kernel, recurrent, out = w(6, 16), w(8, 16), w(14, 8)

    def call(x):
        h = tf.zeros([1, 8])
        for step in tf.unstack(x, 3, 1):
            r, z = tf.split(tf.sigmoid(step @ kernel + h @ recurrent), 2, 1)
            h = z * h + (1 - z) * tf.tanh(tf.concat([step, r * h], 1) @ out)
        return h
    return Net(call, [rows(1, 3, 6)])


def dilated(w):
    k, b = w(3, 3, 4, 6), w(6)
    return Net(lambda x: tf.nn.relu(convolution(x, k, b, dilations=2)), [image(10, 10)])


def shuffle(w):
    k, b = w(1, 1, 8, 8), w(8)

    def call(x):
        x = convolution(x, k, b)
        x = tf.transpose(tf.reshape(x, [1, 6, 6, 2, 4]), [0, 1, 2, 4, 3])
        return tf.reshape(x, [1, 6, 6, 8])
    return Net(call, [image(6, 6, 8)])


def embedding(w):
    table, d, b = w(30, 8), w(8, 3), w(3)

    def call(x):
        return tf.reduce_sum(tf.gather(table, x), 1) @ d + b
    return Net(call, [rows(1, 7, dtype=tf.int32)], 0, 29)


def dynamic_shape(w):
    d = w(12, 5)

    def call(x):
        return tf.reshape(x, [tf.shape(x)[0], 12]) @ d
    return Net(call, [rows(None, 3, 4)])


# Single operators.

def one(function, *inputs, low=-2.0, high=2.0):
    return lambda w: Net(function, list(inputs) or [image()], low, high)


def two(function, low=-2.0, high=2.0):
    return one(function, rows(2, 3, 4, name="a"), rows(2, 3, 4, name="b"), low=low, high=high)


def with_weights(function, shape, x):
    def make(w):
        k = w(*shape)
        return Net(lambda value: function(value, k), [x])
    return make


ALL = {
    "cnn": cnn, "separable": separable, "residual": residual, "inception": inception,
    "squeeze_excite": squeeze_excite, "mlp": mlp, "autoencoder": autoencoder, "unet": unet, "upsampler": upsampler,
    "attention": attention, "transformer": transformer, "keyword": keyword, "lstm": lstm,
    "unrolled_gru": unrolled_gru, "dilated": dilated, "shuffle": shuffle, "embedding": embedding,
    "dynamic_shape": dynamic_shape,
    "conv_without_bias": with_weights(convolution, (3, 3, 4, 4), image()),
    "depthwise_without_bias": with_weights(depthwise, (3, 3, 4, 2), image()),
    "fully_connected_without_bias": with_weights(lambda x, k: x @ k, (8, 4), rows(3, 8)),
    "select": two(lambda a, b: tf.where(a > b, a, b)),
    "where_scalar": two(lambda a, b: tf.where(a > 0.0, b, 0.0)),
    "floor_div": two(lambda a, b: a // b, 0.5, 9),
    "floor_mod": two(lambda a, b: tf.math.floormod(a, b), 0.5, 9),
    "floor": one(tf.floor), "ceil": one(tf.math.ceil), "round": one(tf.round), "sign": one(tf.sign),
    "cumsum": one(lambda x: tf.cumsum(x, 1)),
    "cumsum_reverse": one(lambda x: tf.cumsum(x, 2, exclusive=True, reverse=True)),
    "ellipsis": one(lambda x: x[..., 1:3]), "ellipsis_new_axis": one(lambda x: x[0, ..., tf.newaxis, 1]),
    "strided": one(lambda x: x[:, ::2, 1:-1, :]),
    "l2_normalize": one(lambda x: tf.nn.l2_normalize(x, -1)),
    "logic": two(lambda a, b: tf.cast(tf.logical_and(tf.equal(tf.round(a), tf.round(b)), a < 1.0), tf.float32)),
    "not_equal": two(lambda a, b: tf.cast(tf.not_equal(tf.round(a), tf.round(b)), tf.float32)),
    "leaky_relu": one(lambda x: tf.nn.leaky_relu(x, 0.1)), "elu": one(tf.nn.elu),
    "hard_swish": one(lambda x: x * tf.nn.relu6(x + 3) * np.float32(1 / 6)),
    "prelu": with_weights(lambda x, k: tf.nn.relu(x) - k * tf.nn.relu(-x), (1, 1, 4), image()),
    "log_softmax": one(tf.nn.log_softmax, rows(2, 10)),
    "pad_reflect": one(lambda x: tf.pad(x, [[0, 0], [1, 1], [2, 2], [0, 0]], "REFLECT")),
    "pad_constant": one(lambda x: tf.pad(x, [[0, 0], [1, 0], [0, 2], [0, 0]])),
    "tile": one(lambda x: tf.tile(x, [1, 2, 1, 3])), "argmax": one(lambda x: tf.argmax(x, -1)),
    "top_k": one(lambda x: tf.math.top_k(x, 3), rows(2, 9)),
    "depth_to_space": one(lambda x: tf.nn.depth_to_space(x, 2)),
    "space_to_batch": one(lambda x: tf.space_to_batch(x, [2, 2], [[0, 0], [0, 0]])),
    "resize_nearest": one(lambda x: tf.image.resize(x, [12, 12], "nearest")),
    "reduce_max": one(lambda x: tf.reduce_max(x, [1, 2])), "reduce_sum": one(lambda x: tf.reduce_sum(x, 3)),
    "reduce_any": one(lambda x: tf.cast(tf.reduce_any(x > 1.5, 3), tf.float32)),
    "reverse": one(lambda x: tf.reverse(x, [1])),
    "one_hot": one(lambda x: tf.one_hot(tf.argmax(x, -1), 6), rows(2, 6)),
    "pack": two(lambda a, b: tf.stack([a, b], 1)), "divide": two(lambda a, b: a / b, 0.5, 3),
    "maximum": two(tf.maximum), "power": two(tf.pow, 0.5, 2), "exp": one(tf.exp), "log": one(tf.math.log, low=0.1, high=4),
    "add_n": two(lambda a, b: tf.add_n([a, b, a])),
    "gather_nd": one(lambda x: tf.gather_nd(x, [[0, 1], [0, 3]])),
    "scatter_nd": one(lambda x: tf.scatter_nd([[1], [3]], x, [5, 4]), rows(2, 4)),
    "broadcast_to": one(lambda x: tf.broadcast_to(x, [3, 2, 4]), rows(2, 4)),
    "conv3d": with_weights(lambda x, k: tf.nn.conv3d(x, k, [1] * 5, "SAME"), (2, 2, 2, 3, 4), rows(1, 4, 4, 4, 3)),
    "fake_quant": one(lambda x: tf.quantization.fake_quant_with_min_max_args(x, -1.5, 1.5)),
}


class Drawn:
    """A network of drawn layers: `random_7` is that of seed 7. No figure of a seed that was not asked for is tuned to it."""

    def __init__(self, w):
        self.w, self.random, self.channels = w, w.random, int(w.random.choice([3, 5, 8, 16]))
        self.size = int(w.random.choice([9, 12, 16]))
        self.spec = image(self.size, self.size, self.channels)
        self.layers = [self.layer() for _ in range(int(w.random.integers(3, 8)))]
        self.head = self.draw(self.mean_head, self.kept_mean_head, self.flat_head, self.pool_head)()

    def draw(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def activation(self):
        slope = float(self.random.uniform(0.05, 0.4))
        return self.draw(tf.nn.relu, tf.nn.relu6, lambda x: x, tf.sigmoid, tf.tanh, lambda x: tf.nn.leaky_relu(x, slope))

    def layer(self):
        return self.draw(self.convolution, self.convolution, self.depthwise, self.residual, self.gate, self.pool, self.average)()

    def convolution(self):
        size, strides = self.draw(1, 3, 3, 5), self.draw(1, 1, 2)
        channels = int(self.random.choice([4, 7, 16, 24]))
        k, b, f = self.w(size, size, self.channels, channels), self.w(channels), self.activation()
        self.channels, self.size = channels, -(-self.size // strides)
        return lambda x: f(convolution(x, k, b, strides))

    def depthwise(self):
        k, b, f = self.w(3, 3, self.channels, 1, scale=0.4), self.w(self.channels), self.activation()
        return lambda x: f(depthwise(x, k, b))

    def residual(self):
        k, b, f = self.w(3, 3, self.channels, self.channels), self.w(self.channels), self.activation()
        return lambda x: f(x + convolution(x, k, b))

    def gate(self):
        k, b = self.w(1, 1, self.channels, self.channels), self.w(self.channels)
        return lambda x: x * tf.sigmoid(convolution(tf.reduce_mean(x, [1, 2], keepdims=True), k, b))

    def pool(self):
        return lambda x: tf.nn.max_pool2d(x, 3, 1, "SAME")

    def average(self):
        return lambda x: tf.nn.avg_pool2d(x, 2, 1, "SAME")

    def dense(self, size):
        k, b = self.w(size, 10), self.w(10)
        return self.draw(lambda x: x @ k + b, lambda x: tf.nn.softmax(x @ k + b))

    def mean_head(self):
        dense = self.dense(self.channels)
        return lambda x: dense(tf.reduce_mean(x, [1, 2]))

    def kept_mean_head(self):
        dense, channels = self.dense(self.channels), self.channels
        return lambda x: dense(tf.reshape(tf.reduce_mean(x, [1, 2], keepdims=True), [1, channels]))

    def flat_head(self):
        size = self.size * self.size * self.channels
        dense = self.dense(size)
        return lambda x: dense(tf.reshape(x, [1, size]))

    def pool_head(self):
        dense, channels = self.dense(self.channels), self.channels
        return lambda x: dense(tf.reshape(tf.reduce_sum(x, [1, 2]), [1, channels]))

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def drawn(w):
    net = Drawn(w)
    return Net(tf.autograph.experimental.do_not_convert(net.__call__), [net.spec])


class Single:
    """An operator with drawn sizes: `single_3_mean` is the MEAN of seed 3."""

    def __init__(self, w):
        self.w, self.random = w, w.random
        self.height, self.width = (int(self.random.integers(4, 14)) for _ in range(2))
        self.channels = self.pick(3, 5, 8, 12, 16, 21)
        self.image = image(self.height, self.width, self.channels)

    def pick(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def scaled(self, *shape):
        """Weights whose output channels differ in size."""
        return self.w(*shape) * self.w(shape[-1], scale=1.0)

    def pair(self, function, low=-2.0, high=2.0):
        shape = [1, *(int(self.random.integers(1, 9)) for _ in range(2)), self.channels]
        times, plus = float(self.random.uniform(0.2, 3)), float(self.random.uniform(0, 0.5))
        return Net(lambda a, b: function(a, b * times + plus), [rows(*shape, name="a"), rows(*shape, name="b")], low, high)

    def of(self, function, **ends):
        return Net(function, [self.image], **ends)

    def conv(self):
        size, strides, padding = self.pick(1, 2, 3, 5), self.pick(1, 1, 2), self.pick("SAME", "VALID") if self.height > 5 < self.width else "SAME"
        outputs, f = self.pick(4, 6, 16, 19), self.pick(tf.nn.relu, tf.nn.relu6, lambda x: x)
        k, b = self.scaled(size, size, self.channels, outputs), self.w(outputs)
        return self.of(lambda x: f(convolution(x, k, b, strides, padding)))

    def depthwise(self):
        k, strides = self.w(3, 3, self.channels, self.pick(1, 1, 2), scale=0.4), self.pick(1, 2)
        b = self.w(int(k.shape[2] * k.shape[3]))
        return self.of(lambda x: depthwise(x, k, b, strides))

    def connected(self):
        depth, outputs, count = self.pick(24, 33, 64), self.pick(10, 33, 48), self.pick(1, 3)
        k, b, f = self.scaled(depth, outputs), self.w(outputs), self.pick(tf.nn.relu, lambda x: x)
        return Net(lambda x: f(x @ k + b), [rows(count, depth)])

    def connected_plain(self):
        k = self.scaled(self.pick(24, 40), self.pick(32, 45))
        return Net(lambda x: x @ k, [rows(self.pick(1, 4), int(k.shape[0]))])

    def transposed(self):
        outputs, size, strides = self.pick(3, 8, 20), self.pick(2, 3), self.pick(1, 2)
        k = self.scaled(size, size, self.channels, outputs)
        k = tf.transpose(k, [0, 1, 3, 2])
        to = [1, self.height * strides, self.width * strides, outputs]
        return self.of(lambda x: tf.nn.conv2d_transpose(x, k, to, strides, "SAME"))

    def matmul(self):
        m, n, d = (int(self.random.integers(2, 20)) for _ in range(3))
        return Net(lambda a, b: tf.matmul(a, b, transpose_b=True), [rows(2, m, d, name="a"), rows(2, n, d, name="b")])

    def matmul_constant(self):
        m, n, d = int(self.random.integers(2, 9)), self.pick(17, 24), self.pick(32, 41)
        k = self.w(2, d, n)
        return Net(lambda a: tf.matmul(a, k), [rows(2, m, d)])

    def add(self):
        f = self.pick(tf.nn.relu, lambda x: x)
        return self.pair(lambda a, b: f(a + b))

    def sub(self):
        return self.pair(lambda a, b: a - b)

    def mul(self):
        return self.pair(lambda a, b: a * b)

    def add_constant(self):
        k = self.w(self.channels, scale=1.0)
        return self.of(lambda x: x + k)

    def div(self):
        return self.pair(lambda a, b: a / b, 0.5, 3)

    def squared_difference(self):
        return self.pair(tf.math.squared_difference)

    def maximum(self):
        return self.pair(tf.maximum)

    def softmax(self):
        count, size, beta = self.pick(1, 7), self.pick(4, 10, 90), float(self.random.uniform(0.5, 8))
        return Net(tf.nn.softmax, [rows(count, size)], -beta, beta)

    def unary(self, function, low=None, high=None):
        edge = float(self.random.uniform(0.7, 6))
        return self.of(function, low=-edge if low is None else low, high=edge if high is None else high)

    def sigmoid(self):
        return self.unary(tf.sigmoid)

    def tanh(self):
        return self.unary(tf.tanh)

    def relu(self):
        return self.unary(tf.nn.relu)

    def relu6(self):
        return self.unary(tf.nn.relu6)

    def leaky_relu(self):
        slope = float(self.random.uniform(0.01, 0.6))
        return self.unary(lambda x: tf.nn.leaky_relu(x, slope))

    def hard_swish(self):
        return self.unary(lambda x: x * tf.nn.relu6(x + 3) * np.float32(1 / 6))

    def gelu(self):
        return self.unary(tf.nn.gelu)

    def elu(self):
        return self.unary(tf.nn.elu)

    def exp(self):
        return self.unary(tf.exp)

    def rsqrt(self):
        return self.unary(tf.math.rsqrt, 0.05, 4.0)

    def log_softmax(self):
        return Net(tf.nn.log_softmax, [rows(self.pick(1, 3), self.pick(5, 12))])

    def mean(self):
        axes, keep = self.pick([1, 2], [1], [3], [1, 2, 3]), bool(self.pick(0, 1))
        return self.of(lambda x: tf.reduce_mean(x, axes, keepdims=keep))

    def sum(self):
        axes, keep = self.pick([1, 2], [1], [3]), bool(self.pick(0, 1))
        return self.of(lambda x: tf.reduce_sum(x, axes, keepdims=keep))

    def reduce_max(self):
        axes = self.pick([1, 2], [3])
        return self.of(lambda x: tf.reduce_max(x, axes))

    def average(self):
        size, strides, padding = self.pick(2, 3), self.pick(1, 2), self.pick("SAME", "VALID")
        return self.of(lambda x: tf.nn.avg_pool2d(x, size, strides, padding))

    def greatest(self):
        size, strides = self.pick(2, 3), self.pick(1, 2)
        return self.of(lambda x: tf.nn.max_pool2d(x, size, strides, "SAME"))

    def concat(self):
        return self.pair(lambda a, b: tf.concat([a, b], 3))

    def resize(self):
        to = [int(self.random.integers(2, 30)) for _ in range(2)]
        return self.of(lambda x: tf.image.resize(x, to, "bilinear"))

    def l2_normalize(self):
        return self.of(lambda x: tf.nn.l2_normalize(x, -1))

    def prelu(self):
        k = self.w(1, 1, self.channels)
        return self.of(lambda x: tf.nn.relu(x) - k * tf.nn.relu(-x))


def expanded(name):
    """`single_3` is one net of each kind."""
    return [f"{name}_{kind}" for kind in SINGLES] if name.startswith("single_") else [name]


def single(name):
    kind = name.split("_", 2)[2]
    return getattr(Single(Weights(name)), kind)()


def make(name):
    if name.startswith("single_"):
        return single(name)
    return (drawn if name.startswith("random_") else ALL[name])(Weights(name))


SINGLES = ("conv", "depthwise", "connected", "connected_plain", "transposed", "matmul", "matmul_constant", "add", "sub", "mul", "add_constant", "div",
           "squared_difference", "maximum", "softmax", "sigmoid", "tanh", "relu", "relu6", "leaky_relu", "hard_swish", "gelu", "elu", "exp", "rsqrt",
           "log_softmax", "mean", "sum", "reduce_max", "average", "greatest", "concat", "resize", "l2_normalize", "prelu")
