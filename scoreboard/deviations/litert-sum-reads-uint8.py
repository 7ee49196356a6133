"""SUM of INT8 in the reference kernels reads INT8 as UINT8. Needs numpy and ai-edge-litert."""

import base64

import numpy as np
from ai_edge_litert import interpreter
import ai_edge_litert

MODEL = base64.b85decode("".join(r"""
3;+NCR7OlQ00000mjD0%6aWAKPyhe`Q~&?~=m7u#0{{R31ONa4H~;_uEC2ui7ytkO2mk;81ONsA1ONa4000I62mk~C1^@s61ONa41ONa40RR91
{Qv*|1ONm81ONa40RR91cmMzZ0RR916aWAK000gE7yuLi5C9AS2mk~C4gdfE6aWAK8~^|SXaE2JYybcNZ~y=R1ONa4ZDDC{000000RR916aWAK
000gE761SM5C9AS3jhQF4gdfE7ytkO0000R7ytkO8~^|S000I62ml8F1^@s6000010RR910ssI20ssI2000000RR910RR910ssI20RR9100000
0{{R3pa1{>WB>pF1ONa4djJ3b6aWAKGynhq0{{R300009FaQ7mZ2$lN2mk;86aWAK0RR910000000000000000RR91004kL0RR91c>n+a0ssI2
1ONa40RR913;+}W5C9JV2mk~C3;+NC5C8xG0ssI2000025C8xG1ONa4VR&V8000000RR910RR91000gE7yuLi695bV2mk~C4gdfEAOHXWJOBUy
0RR9100009H~;_u3;+xO000002mk~C3;+NC2mk;85C8xG0RR9100000000000RR91004kL0RR91cmMzZ0ssI21ONa40ssI20RR915C8xG3;+-
S4*&oF2mk~C3;+NCN&o-=0ssI20000=
""".split()))  # 552 bytes of TFLite
feeds = [np.array([-1, -2, -20, 15], np.int8), np.array([-1, 1, -20, 15], np.int8)]
exact = [int(a) + int(b) for a, b in zip(*feeds)]
feeds = [np.stack(feeds, 1)]
print("exact:", exact)
for kernels in ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO"):
    network = interpreter.Interpreter(model_content=MODEL, num_threads=1,
                                      experimental_op_resolver_type=interpreter.OpResolverType[kernels])
    network.allocate_tensors()
    for slot, value in zip(network.get_input_details(), feeds):
        network.set_tensor(slot["index"], value.reshape(slot["shape"]))
    network.invoke()
    print("LiteRT", ai_edge_litert.__version__, kernels, network.get_tensor(network.get_output_details()[0]["index"]).ravel()[:12])
