"""With XNNPACK products and sums of INT8 round halves to even, where the reference kernels round them away from zero. Needs numpy and ai-edge-litert."""

import base64

import numpy as np
from ai_edge_litert import interpreter
import ai_edge_litert

MODEL = base64.b85decode("".join(r"""
8~^|SR7OlQ00000000gE6aWMO2mlNK000mG4gdfE0{{R3=m7u#Gynhq1ONa40ssI2Bme*a3;+NC000I62mk~C1^@s61ONa41ONa40RaI400000
nE(I(0RR916aWAK000gE7ytwS2mlNK5C9Ya4gdfEbN~PVXaE2JTmS$75C8xG1ONa40RR91X8-
^I0RR916aWAK000gE6aWAK2mlNK2LKQN4gdfE000088~^|S5C8xG2mk;81ONm81ONa40RR910ssI20ssI2000000RR910RR910ssI20RR91000
000{{R3$N&HUWB>pF1ONa4Qvd(|00009H~;_uEC2ui1ONa4MF0Q)7ytkO1ONa40RR910000000000000000RR910000$0RR91c>n+a0ssI2009
611ONa4000gE7yt+W2LKEJ5C9Ya4gdfE00009JOBUy0RR91EC2ui1ONa4r2qf_7ytkO1ONa40RR910000000000000000RR91004kL0ssI2cV+
+p0ssI21ONa40RR91000gE6aWYS2LJ#73;+-
S4gdfE00009KmY&$Gynhq5C8xG3;+xO000001ONyC3;+NC6aWAK1ONa40RR9100000000000RR91004kL0RR91cmMzZ0ssI2009610RR910RR9
15C8xG3;+-S2LJ#72mlNK3;+NC000091^@s62><{9
""".split()))  # 560 bytes of TFLite
feeds = [np.arange(-128, 128, dtype=np.int8)]
print("exact: x / 2, -64, -63.5, -63, ... each four times")
for kernels in ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO"):
    network = interpreter.Interpreter(model_content=MODEL, num_threads=1,
                                      experimental_op_resolver_type=interpreter.OpResolverType[kernels])
    network.allocate_tensors()
    for slot, value in zip(network.get_input_details(), feeds):
        network.set_tensor(slot["index"], value.reshape(slot["shape"]))
    network.invoke()
    print("LiteRT", ai_edge_litert.__version__, kernels, network.get_tensor(network.get_output_details()[0]["index"]).ravel()[:12])
