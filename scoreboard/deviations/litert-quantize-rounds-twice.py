"""QUANTIZE from INT8 to INT8 rounds twice, and so is off by more than half. Needs numpy and ai-edge-litert."""

import base64

import numpy as np
from ai_edge_litert import interpreter
import ai_edge_litert

MODEL = base64.b85decode("".join(r"""
8~^|SR7OlQ00000000gE6aWMO2mlNK000mG4gdfE0{{R3WB~vG6aWAK1ONa40RR911ONa4nE(I(0RR916aWAK000gE7ytwS2mlNK5C9Ya4gdfE
Z~y=RWB>pFSO5S35C8xG1ONa40RR91X8-
^I0RR916aWAK000gE6aWAK2mlNK2LKQN4gdfE000148~^|S5C8xG2mk;81ONm81ONa40RR910RR910RR91000000RR910RR910RR91000000ss
I2WB>pF1ONa4vj6}800009H~;_uEC2ui1ONa4r2qf_7ytkO1ONa40RR91`~Uy{|NsC0000000RR91nwgnC0RR91c>n+a0ssI20RR9100961000
gE6aWYS2LJ#73;+-
S4gdfE00009L;wH)H~;_u5C8xG3;+xO000001ONyC3;+NC7ytkO1ONa40RR910{{R300000000000RR91&CJX_0RR91cmMzZ0ssI20RR910096
10RR915C8xG3;+xO2LJ#7000O83;+NC0001TasU7T
""".split()))  # 424 bytes of TFLite
feeds = [np.arange(-128, 128, dtype=np.int8)]
exact = (np.arange(-128, 128) - 3) * 0.1 / 0.3 - 5
print("exact:", np.round(exact[:12], 2))
for kernels in ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO"):
    network = interpreter.Interpreter(model_content=MODEL, num_threads=1,
                                      experimental_op_resolver_type=interpreter.OpResolverType[kernels])
    network.allocate_tensors()
    for slot, value in zip(network.get_input_details(), feeds):
        network.set_tensor(slot["index"], value.reshape(slot["shape"]))
    network.invoke()
    print("LiteRT", ai_edge_litert.__version__, kernels, network.get_tensor(network.get_output_details()[0]["index"]).ravel()[:12])
