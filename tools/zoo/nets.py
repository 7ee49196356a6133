"""The float networks of the zoo: architectures that people deploy, narrow and of few layers, with random weights of a fixed seed.

NETS gives for each name a function that returns (module, inputs): inputs are tensors by name, in the order of `forward`.
"""
import functools

import torch
import transformers
from torch import nn


class Outputs(nn.Module):
    """A module of transformers as a function from tensors to a tensor: the first output of its model."""

    def __init__(self, model, *names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values):
        return self.model(**dict(zip(self.names, values)), return_dict=False)[0]


def image(size=64):
    return {"pixels": torch.randn(1, 3, size, size)}


def tokens(length=12, vocabulary=99):
    return {"ids": torch.randint(1, vocabulary, (1, length)), "mask": torch.ones(1, length, dtype=torch.int64)}


def vision(model, config, size=64, **options):
    return Outputs(model(config(num_labels=10, **options)), "pixel_values"), image(size)


def text(model, config, **options):
    return Outputs(model(config(vocab_size=99, **options)), "input_ids", "attention_mask"), tokens()


# From https://arxiv.org/abs/1905.02244, table 2, the first eight rows at half the width.
class MobileNetV3(nn.Module):
    ROWS = [(3, 8, 8, True, nn.ReLU, 2), (3, 36, 12, False, nn.ReLU, 2), (3, 44, 12, False, nn.ReLU, 1), (5, 48, 20, True, nn.Hardswish, 2),
            (5, 120, 20, True, nn.Hardswish, 1), (5, 60, 24, True, nn.Hardswish, 1)]

    class Block(nn.Module):
        def __init__(self, channels, kernel, wide, out, squeezes, function, stride):
            super().__init__()
            self.expand = nn.Sequential(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), function())
            self.depthwise = nn.Sequential(nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False), nn.BatchNorm2d(wide), function())
            few = max(8, wide // 4)
            self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, few, 1), nn.ReLU(), nn.Conv2d(few, wide, 1),
                                      nn.Hardsigmoid()) if squeezes else None
            self.project = nn.Sequential(nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out))
            self.residual = stride == 1 and channels == out

        def forward(self, x):
            y = self.depthwise(self.expand(x))
            y = self.project(y if self.gate is None else y * self.gate(y))
            return x + y if self.residual else y

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        channels, blocks = 8, []
        for kernel, wide, out, squeezes, function, stride in self.ROWS:
            blocks.append(self.Block(channels, kernel, wide, out, squeezes, function, stride))
            channels = out
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 64), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(64, 10))

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


class Recurrent(nn.Module):
    def __init__(self, cell, **options):
        super().__init__()
        self.cells = cell(16, 24, batch_first=True, **options)
        self.head = nn.Linear(24 * (2 if self.cells.bidirectional else 1), 10)

    def forward(self, x):
        return self.head(self.cells(x)[0][:, -1])


class Decoder(nn.Module):
    """One step of a decoder with a cache: logits, then keys and values of each layer with the new position."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask, *past):
        cache = transformers.DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        result = self.model(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True)
        news = [tensor for layer in result.past_key_values.layers for tensor in (layer.keys, layer.values)]
        return (result.logits, *news)


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


def decoder(model, config, past=7, **options):
    config = config(vocab_size=99, num_key_value_heads=2, **(SMALL | options))
    config._attn_implementation = "eager"
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    inputs = {"ids": torch.randint(1, 99, (1, 1)), "mask": torch.ones(1, past + 1, dtype=torch.int64)}
    for layer in range(config.num_hidden_layers):
        for kind in ("key", "value"):
            inputs[f"past_{kind}_{layer}"] = torch.randn(1, 2, past, size)
    return Decoder(model(config)), inputs


T = transformers
RESNET = functools.partial(vision, T.ResNetForImageClassification, T.ResNetConfig, embedding_size=16, hidden_sizes=[16, 32, 48, 64])
NETS = {
    "resnet_basic": lambda: RESNET(depths=[2, 2, 1, 1], layer_type="basic"),
    "resnet_bottleneck": lambda: RESNET(depths=[1, 2, 2, 1], layer_type="bottleneck"),
    "mobilenet_v1": lambda: vision(T.MobileNetV1ForImageClassification, T.MobileNetV1Config, depth_multiplier=0.25),
    "mobilenet_v2": lambda: vision(T.MobileNetV2ForImageClassification, T.MobileNetV2Config, depth_multiplier=0.35),
    "mobilenet_v3": lambda: (MobileNetV3(), image()),
    "efficientnet": lambda: vision(T.EfficientNetForImageClassification, T.EfficientNetConfig, width_coefficient=0.25, depth_coefficient=0.3, hidden_dim=320),
    "convnext": lambda: vision(T.ConvNextForImageClassification, T.ConvNextConfig, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1]),
    "vit": lambda: vision(T.ViTForImageClassification, T.ViTConfig, image_size=32, patch_size=8, size=32, **SMALL),
    "swin": lambda: vision(T.SwinForImageClassification, T.SwinConfig, image_size=32, patch_size=2, window_size=4, embed_dim=16, depths=[2, 2],
                           num_heads=[2, 4], size=32),
    "segformer": lambda: vision(T.SegformerForSemanticSegmentation, T.SegformerConfig, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
                                num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=16),
    "bert": lambda: text(T.BertForSequenceClassification, T.BertConfig, **SMALL),
    "distilbert": lambda: text(T.DistilBertForSequenceClassification, T.DistilBertConfig, dim=32, n_layers=2, n_heads=4, hidden_dim=64),
    "gpt2": lambda: text(T.GPT2LMHeadModel, T.GPT2Config, n_embd=32, n_layer=2, n_head=4, use_cache=False),
    "t5_encoder": lambda: text(T.T5EncoderModel, T.T5Config, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4),
    "llama": lambda: decoder(T.LlamaForCausalLM, T.LlamaConfig),
    "qwen2": lambda: decoder(T.Qwen2ForCausalLM, T.Qwen2Config),
    "gemma": lambda: decoder(T.GemmaForCausalLM, T.GemmaConfig, head_dim=8),
    "phi3": lambda: decoder(T.Phi3ForCausalLM, T.Phi3Config, pad_token_id=0),
    "wav2vec2": lambda: (Outputs(T.Wav2Vec2ForCTC(T.Wav2Vec2Config(vocab_size=32, conv_dim=(16, 16, 16), conv_kernel=(10, 3, 3), conv_stride=(5, 2, 2),
                                                                   num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, **SMALL)),
                                 "input_values"), {"wave": torch.randn(1, 1600)}),
    "lstm": lambda: (Recurrent(nn.LSTM, num_layers=2), {"x": torch.randn(1, 9, 16)}),
    "gru": lambda: (Recurrent(nn.GRU, bidirectional=True), {"x": torch.randn(1, 9, 16)}),
}


def build(name):
    """(module, inputs) of NETS[name], the same in each run."""
    torch.manual_seed(sum(name.encode()))
    module, inputs = NETS[name]()
    norms = []
    for layer in module.modules():  # variances stay as they are from layer to layer, so that outputs depend on inputs
        if isinstance(layer, (nn.Conv1d, nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="linear" if isinstance(layer, nn.Linear) else "relu")
            if layer.bias is not None:
                nn.init.uniform_(layer.bias, -0.1, 0.1)
        elif isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.uniform_(layer.bias, -0.2, 0.2)
            layer.momentum = None  # the mean over all that is seen
            layer.reset_running_stats()
            norms.append(layer)
    if norms:
        module.train()
        with torch.no_grad():
            module(torch.randn(8, *inputs["pixels"].shape[1:]))
    return module.eval(), inputs
