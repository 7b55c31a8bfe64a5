"""What the tests share: fresh random arrays, and the exact sums in double that results are compared with."""

import os

import numpy as np
import pytest


@pytest.fixture
def rng(request):
    """Fresh in every run; a failure shows the seed, SPINLOOM_TEST_SEED repeats it."""
    seed = int(os.environ.get("SPINLOOM_TEST_SEED", np.random.SeedSequence().entropy % 2**32))
    print(f"SPINLOOM_TEST_SEED={seed}")
    return np.random.default_rng(seed)


def random_complex(rng, shape, dtype="complex128"):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def random_trajectory(rng, samples, matrix):
    """[samples..., dims] within the matrix, in cycles per field of view."""
    return (rng.random((*samples, len(matrix))) - 0.5) * np.array(matrix)


def exact(trajectory, matrix):
    """E[m, n] = exp(-2 pi i k[m].r[n]), [samples, voxels], written out."""
    axes = np.meshgrid(*[(np.arange(n) - n // 2) / n for n in matrix], indexing="ij")
    r = np.stack([axis.ravel() for axis in axes])
    return np.exp(-2j * np.pi * trajectory.reshape(-1, len(matrix)) @ r)


def relative_error(got, expected):
    return np.linalg.norm(np.asarray(got) - expected) / np.linalg.norm(expected)


@pytest.fixture(params=["Torch", "CuPy"], ids=["torch", "cupy"])
def library(request):
    """Arrays of each library that keeps them on a GPU; skipped where it is not installed."""
    import device_arrays  # not before it is asked for: it imports spinloom

    return getattr(device_arrays, request.param)()
