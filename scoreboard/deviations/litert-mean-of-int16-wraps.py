"""MEAN of INT16 sums in 32 bits, which wrap: a mean of 70,000 values of 3276.7 is -2859. Needs numpy and ai-edge-litert."""

import base64

import numpy as np
from ai_edge_litert import interpreter
import ai_edge_litert

MODEL = base64.b85decode("".join(r"""
3;+NCR7OlQ00000mjD0%6aWAKPyhe`Q~&?~-
~j*t0{{R31ONa4H~;_uEC2ui7ytkO2mk;81ONsA1ONa4000I62mk~C1^@s61ONa41ONa400000{Qv*|1ONm81ONa40RR91cmMzZ0RR916aWAK0
00gE7yuLi5C9AS2mk~C4gdfE6aWAK8~^|SXaE2JYybcNZ~y=R1ONa4ZDDC{000000RR916aWAK000gE761SM5C9AS3jhQF4gdfE7ytkO0000R7
ytkO8~^|S000I62ml8F1^@s6000010RR910ssI20ssI2000000RR910RR910ssI20RR91000000{{R3m;e9(TmS$71ONa4g8%>j6aWAKFaQ7m0
{{R300007EC2uibpQYV2mk;85C8xG0RR9100000000000RR91&CJX_0RR91c>n+a0RR910RR913;+}W5C9JV2mk~C3;+NC5C8xG0ssI2000025
C8xG1ONa4VR&V8000000RR910RR91000gE7yuLi695bV2mk~C4gdfEAOHXWKmY&$0RR9100007JOBUy3;+xO000002mk~C3;+NC2mk;86aWAK0
RR910000000000000000RR91&CJX_0RR91cmMzZ0RR91a1j9j0RR915C8xG3;+-S4*&oF2mk~C3;+NCC;$Ke0{{R30000e
""".split()))  # 544 bytes of TFLite
feeds = [np.full(70000, 32767, np.int16)]
print("exact: the mean of equal values is that value,", 32767)
for kernels in ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO"):
    network = interpreter.Interpreter(model_content=MODEL, num_threads=1,
                                      experimental_op_resolver_type=interpreter.OpResolverType[kernels])
    network.allocate_tensors()
    for slot, value in zip(network.get_input_details(), feeds):
        network.set_tensor(slot["index"], value.reshape(slot["shape"]))
    network.invoke()
    print("LiteRT", ai_edge_litert.__version__, kernels, network.get_tensor(network.get_output_details()[0]["index"]).ravel()[:12])
