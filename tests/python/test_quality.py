"""compare() computes its formulas, and scikit-image's structural similarity."""

import numpy as np
import pytest
import spinloom
from conftest import random_complex


def test_the_figures_are_their_formulas(rng):
    a, b = rng.standard_normal((2, 12, 13, 14))
    q = spinloom.compare(a, b)
    d = a - b
    assert np.isclose(q.nrmse, np.linalg.norm(d) / np.linalg.norm(b))
    assert np.isclose(q.psnr_db, 20 * np.log10(np.abs(b).max() / np.sqrt(np.mean(d**2))))
    assert np.isclose(q.max_abs_difference, np.abs(d).max())
    assert np.isclose(q.correlation, np.corrcoef(a.ravel(), b.ravel())[0, 1])
    assert q.scale == 1 and q.elements == a.size and q.compared == "real"


def test_equal_images_are_equal(rng):
    a = rng.standard_normal((16, 16)).astype("float32")
    q = spinloom.compare(a, a)
    assert q.nrmse == 0 and q.psnr_db == np.inf and np.isclose(q.ssim, 1)


def test_the_scale_is_the_least_squares_one(rng):
    b = random_complex(rng, (9, 11))
    factor = 2.5 - 1.5j
    q = spinloom.compare(b / factor, b, scale=True)
    assert np.isclose(q.scale, factor) and q.nrmse < 1e-12 and q.compared == "complex"


def test_complex_with_real_compares_magnitudes(rng):
    b = random_complex(rng, (9, 11), "complex64")
    q = spinloom.compare(b, np.abs(b))
    assert q.compared == "magnitude" and q.nrmse < 1e-6


def test_a_mask_chooses_what_counts(rng):
    a, b = rng.standard_normal((2, 20, 20))
    mask = rng.random((20, 20)) > 0.5
    q = spinloom.compare(a, b, mask=mask)
    assert q.elements == mask.sum()
    assert np.isclose(q.nrmse, np.linalg.norm((a - b)[mask]) / np.linalg.norm(b[mask]))
    holes = np.where(mask, np.nan, 1.0)
    with pytest.raises(spinloom.ArgumentError, match="the mask holds values that are not numbers; expected 0"):
        spinloom.compare(a, b, mask=holes)


def test_strided_images_give_the_same_figures(rng):
    a, b = rng.standard_normal((2, 20, 20))
    assert spinloom.compare(a.T, b[::-1]) == spinloom.compare(a.T.copy(), b[::-1].copy())


def test_integers_are_compared(rng):
    a = rng.integers(0, 255, (15, 15)).astype("uint8")
    assert spinloom.compare(a, a.astype("int32") + 1).max_abs_difference == 1


def test_structural_similarity_is_scikit_images(rng):
    metrics = pytest.importorskip("skimage.metrics")
    b = rng.random((40, 50))
    a = b + 0.2 * rng.standard_normal(b.shape)
    expected = metrics.structural_similarity(
        a, b, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=np.abs(b).max()
    )
    assert np.isclose(spinloom.compare(a, b).ssim, expected, rtol=1e-6)
