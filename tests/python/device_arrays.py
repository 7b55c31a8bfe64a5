"""What the tests of arrays on a GPU share: arrays of each library, and one that only says where it lies."""

import numpy as np
import pytest
import spinloom
from conftest import random_complex, random_trajectory

STATUS = spinloom.info()["backends"]["cuda"]
HAS_GPU = not STATUS.startswith("not used")
on_gpu = pytest.mark.skipif(not HAS_GPU, reason=f"no GPU is usable: {STATUS}")
without_gpu = pytest.mark.skipif(HAS_GPU, reason="says what is said where no GPU is usable, and here one is")

MATRIX = (6, 7)


class Elsewhere:
    """An array that says it lies on a device, and has no memory there: whoever asks for it has not looked first."""

    shape, dtype = MATRIX, "complex64"

    def __init__(self, kind=2, number=0, **attributes):
        self.device = (kind, number)
        self.exports = 0
        self.__dict__.update(attributes)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.exports += 1
        raise BufferError("there is no memory behind this")


# Each library's own way to make arrays on a GPU and to look at them:


class Torch:
    def __init__(self):
        self.torch = pytest.importorskip("torch")
        self.type = self.torch.Tensor

    def send(self, array):
        return self.torch.from_numpy(np.ascontiguousarray(array)).cuda()

    def fetch(self, array):
        assert array.device.type == "cuda"
        return array.cpu().numpy()

    def address(self, array):
        return array.data_ptr()

    def empty(self, shape, dtype):
        return self.torch.full(shape, float("nan"), dtype=getattr(self.torch, dtype), device="cuda")

    def wrap(self, speaker):
        return self.torch.from_dlpack(speaker)


class CuPy:
    def __init__(self):
        self.cupy = pytest.importorskip("cupy")
        self.type = self.cupy.ndarray

    def send(self, array):
        return self.cupy.asarray(array)

    def fetch(self, array):
        return array.get()

    def address(self, array):
        return array.data.ptr

    def empty(self, shape, dtype):
        return self.cupy.full(shape, np.nan, dtype)

    def wrap(self, speaker):
        return self.cupy.from_dlpack(speaker)


def free_bytes():
    return spinloom.info()["gpus"][0]["memory_free_bytes"]


CASES = ["nufft", "exact", "normal", "normal of nufft", "encoding", "encoding by nufft", "normal of encoding", "sum"]


def operator(case, dtype, device, seed=5):
    rng = np.random.default_rng(seed)
    matrix = (9, 12, 10)
    k = random_trajectory(rng, (31, 7), matrix)
    maps = random_complex(rng, (3, *matrix), dtype)
    tight = {"tolerance": 1e-5 if dtype == "complex64" else 1e-9}
    plan = {
        "nufft": lambda: spinloom.Nufft(k, matrix, 3, dtype=dtype, device=device, **tight),
        "exact": lambda: spinloom.Nufft(k, matrix, 3, exact=True, dtype=dtype, device=device),
        "normal": lambda: spinloom.NormalOperator(k, matrix, rng.random((31, 7)), 3, dtype=dtype, device=device, **tight),
        "normal of nufft": lambda: spinloom.Nufft(k, matrix, dtype=dtype, device=device, **tight).N,
        "encoding": lambda: spinloom.Encoding(k, maps, device=device, **tight),
        "encoding by nufft": lambda: spinloom.Encoding(k, maps, operator="nufft", coil_batch=2, device=device, **tight),
        "normal of encoding": lambda: spinloom.Encoding(k, maps, device=device, **tight).N,
        "sum": lambda: 0.5 * spinloom.NormalOperator(k, matrix, dtype=dtype, device=device, **tight)
        + 2 * spinloom.Identity(matrix, dtype=dtype),
    }
    return plan[case]()
