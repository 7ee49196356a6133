"""Calibration and quantization: statistics and parameters derived by hand."""

import numpy as np
import pytest

import models
import qtx

SAMPLES = [{"x": np.array([[-1, 0, 2]], np.float32)}, {"x": np.array([[3, 1, 1]], np.float32)}]


def test_statistics_are_of_all_samples():
    model = qtx.calibrate(models.relu(), SAMPLES)
    text = str(model._core.inputs[0].text)
    statistics = qtx.diff(models.relu(), model)
    assert any(difference.place == "value 'x'" and difference.field == "statistics" for difference in statistics), text


def test_iterables_and_threads_give_the_same_bytes():
    expected = qtx.calibrate(models.relu(), SAMPLES, threads=1).to_bytes()
    assert qtx.calibrate(models.relu(), (sample for sample in SAMPLES), threads=2).to_bytes() == expected
    assert qtx.calibrate(models.relu(), tuple(SAMPLES)).to_bytes() == expected


# The values of x are -1 to 3: scale (3 + 1) / 255 rounded up to binary32, offset -128 + 1 / scale = -64.25 -> -64.
def test_parameters_follow_from_the_extremes():
    model = qtx.quantize(models.relu(), SAMPLES, io="quantized")
    x, = model._core.inputs
    assert x.type == "INT8Q" and x.offset == [-64]
    assert 4 / 255 <= x.scale[0] <= np.nextafter(np.float32(4 / 255), np.float32(1))
    y = qtx.Interpreter(model).run({"x": SAMPLES[0]["x"]})["y"]
    assert np.abs(y.real() - [[0, 0, 2]]).max() <= x.scale[0] / 2 + y.scale / 2
    assert any(entry.value == "x" for entry in model.ledger)
    assert qtx.quantize(qtx.calibrate(models.relu(), SAMPLES), io="quantized").inputs == model.inputs


def test_what_samples_raise_comes_through():
    def samples():
        yield SAMPLES[0]
        raise OSError("the disk is gone")
    with pytest.raises(OSError, match="the disk is gone"):
        qtx.calibrate(models.relu(), samples())

    class Late:
        def __len__(self):
            return 2

        def __getitem__(self, index):
            raise LookupError("late")
    with pytest.raises(LookupError, match="late"):
        qtx.calibrate(models.relu(), Late())
    with pytest.raises(TypeError, match="input 'x': found an array of int64, expected float32"):
        qtx.calibrate(models.relu(), [{"x": np.array([[1, 2, 3]])}])
    with pytest.raises(TypeError, match="samples: found dict, expected an iterable of dicts"):
        qtx.calibrate(models.relu(), SAMPLES[0])


def test_bad_samples_are_an_error_or_skipped():
    bad = [*SAMPLES, {"x": np.zeros((1, 2), np.float32)}]
    with pytest.raises(qtx.Error, match=r"samples\[2\]"):
        qtx.calibrate(models.relu(), bad)
    nan = [*SAMPLES, {"x": np.full((1, 3), np.nan, np.float32)}]
    del nan
    with pytest.raises(qtx.Error, match="no sample"):
        qtx.calibrate(models.relu(), [])
    assert qtx.calibrate(models.relu(), bad, skip_bad_samples=True)


def test_settings_are_named_where_they_are_wrong():
    with pytest.raises(qtx.Error, match="^activations: "):
        qtx.quantize(models.relu(), SAMPLES, activations="int9")
    with pytest.raises(qtx.Error, match="^weight_range: "):
        qtx.quantize(models.relu(), SAMPLES, weight_range="often")
    with pytest.raises(ValueError, match="io: found 'int8'"):
        qtx.quantize(models.relu(), SAMPLES, io="int8")
    with pytest.raises(TypeError, match="weights: found int"):
        qtx.quantize(models.relu(), SAMPLES, weights=8)
    with pytest.raises(qtx.Error, match="statistics"):
        qtx.quantize(models.relu())
