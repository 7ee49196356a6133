"""What `--method coordinate-descent` promises, computed by numpy from the sums: no change of one stored integer lowers the
error (w - q)^T H (w - q), and it is no more than that of GPTQ and of rounding to nearest."""
import numpy as np


def damped(hessian):
    return hessian + 0.01 * (np.mean(np.diag(hessian)) or 1) * np.eye(len(hessian))


def errors_of(w, q, h):
    return np.einsum('kc,kj,jc->c', w - q, h, w - q)


def hold(w, hessian, parts, others, limits):
    """`w` and the arrays of parts (code, scale, zero) are [rows of H, outputs]; `others`: the reals of other methods."""
    h = damped(hessian)
    code, scale, zero = (np.broadcast_to(p, w.shape).astype(np.float64) for p in parts)
    left = w - scale * (code - zero)
    error, pull = np.einsum('kc,kj,jc->c', left, h, left), h @ left
    for step in (-1, 1):
        allowed = (code + step >= limits[0]) & (code + step <= limits[1])
        change = -2 * step * scale * pull + scale**2 * np.diag(h)[:, None]
        assert np.all(change[allowed] >= -1e-9 * (np.broadcast_to(error, w.shape)[allowed] + np.abs(pull * scale)[allowed])), 'a change of one code lowers the error'
    for other in others:
        assert np.all(error <= errors_of(w, other, h) * (1 + 1e-9) + 1e-30), 'another method leaves less'
    return np.sum(error)
