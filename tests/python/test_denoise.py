"""Non-local means gives scikit-image's numbers, from its recorded calls and side by side."""

import json
import pathlib
import warnings

import numpy as np
import pytest
import spinloom

DATA = pathlib.Path(__file__).parents[1] / "data" / "nlm"
INDEX = json.loads((DATA / "index.json").read_text())


def bound(result, image):
    """What the library promises beside exact sums: shares of the image's range."""
    spread = np.nanmax(image.astype("float64")) - np.nanmin(image.astype("float64"))
    return (2.4e-7 if result.dtype == np.float32 else 1e-8) * max(spread, 1e-300)


@pytest.mark.parametrize("case", INDEX["cases"], ids=lambda c: c["name"])
@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_recorded_calls_of_scikit_image_are_met(case, device):
    image, expected = (np.load(DATA / f"{case['name']}.{part}.npy") for part in ("in", "out"))
    got = spinloom.denoise_nl_means(image, **case["params"], compat="scikit-image", device=device)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    classic_float = not case["params"]["fast_mode"] and got.dtype == np.float32
    if device == "reference" and not classic_float:
        assert np.array_equal(got, expected, equal_nan=True)
    else:
        # Classic float: NumPy's own exp differs by version.
        integer = image.dtype.kind in "biu" and not case["params"]["preserve_range"]
        scale = 1.0 if integer else None
        limit = (2e-6 if classic_float else bound(got, image) if scale is None else 1e-8) + 0.0
        assert np.nanmax(np.abs(got.astype("float64") - expected), initial=0) <= limit
        assert np.array_equal(np.isnan(got), np.isnan(expected))


def assert_close(got, expected, limit):
    """Within the limit, but for voxels where rounding decides whether a distance is above the cut-off of 5: a pair of
    weight exp(-5) is then in one sum and not in the other."""
    scale = max(1, np.abs(expected).max())
    difference = np.abs(got - expected) / scale
    assert (difference > limit).mean() < 2e-3 and difference.max() < np.exp(-5)


def theirs():
    return pytest.importorskip("skimage.restoration")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fast_mode", [True, False])
@pytest.mark.parametrize(
    ("shape", "patch_size", "patch_distance", "channel_axis"),
    [((20, 23), 5, 4, None), ((11, 12, 13), 3, 3, None), ((11, 12, 13), 4, 2, None), ((19, 17, 3), 3, 3, -1)],
    ids=str,
)
def test_fresh_images_equal_scikit_images(rng, dtype, fast_mode, shape, patch_size, patch_distance, channel_axis):
    image = rng.random(shape).astype(dtype)
    options = {
        "patch_size": patch_size,
        "patch_distance": patch_distance,
        "h": float(rng.uniform(0.1, 0.5)),
        "sigma": float(rng.uniform(0, 0.1)),
        "fast_mode": fast_mode,
        "channel_axis": channel_axis,
    }
    expected = theirs().denoise_nl_means(image, **options)
    got = spinloom.denoise_nl_means(image, **options)
    assert got.dtype == expected.dtype
    # Theirs has rounding errors of its own: in float it subtracts running sums of the whole image.
    assert_close(got, expected, 2e-5 if dtype == "float32" else 2e-8)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "uint16", "int32", "float16", ">f8", ">f4"])
@pytest.mark.parametrize("preserve_range", [False, True])
def test_element_types_follow_scikit_image(rng, dtype, preserve_range):
    values = rng.random((9, 10, 11))
    image = values > 0.5 if dtype == "bool" else (values * 200).astype(dtype) if "int" in dtype else values.astype(dtype)
    h = 0.1 if not preserve_range else 20.0
    native = image.astype(image.dtype.newbyteorder("="))  # scikit-image refuses the other order
    expected = theirs().denoise_nl_means(native, 3, 2, h, preserve_range=preserve_range)
    got = spinloom.denoise_nl_means(image, 3, 2, h, preserve_range=preserve_range)
    assert got.dtype == expected.dtype and got.dtype.isnative
    assert_close(got, expected, 1e-5 if got.dtype == np.float32 else 1e-7)


def test_the_signature_is_scikit_images():
    import inspect

    ours = inspect.signature(spinloom.denoise_nl_means).parameters
    theirs_ = inspect.signature(theirs().denoise_nl_means).parameters
    shared = [(n, p.default, p.kind) for n, p in ours.items() if n in theirs_]
    assert shared == [(n, p.default, p.kind) for n, p in theirs_.items()]


def test_a_constant_image_stays_constant():
    for value in (0.0, 0.5, 1e-30, 1e20):
        image = np.full((8, 8, 8), value)
        # A sum of equal terms over a sum of their weights: some ten roundings.
        assert np.allclose(spinloom.denoise_nl_means(image, 3, 3, sigma=0.1), image, rtol=1e-13, atol=0)


def test_one_nan_disturbs_its_neighbours_only(rng):
    image = rng.random((12, 13, 14)).astype("float32")
    clean = spinloom.denoise_nl_means(image, 3, 2, 0.3)
    image[6, 6, 6] = np.nan
    got = spinloom.denoise_nl_means(image, 3, 2, 0.3)
    far = np.ones(image.shape, bool)
    far[2:11, 2:11, 2:11] = False  # a patch of 1 around a shift of 2, with a voxel to spare
    assert np.isnan(got).sum() <= 1 and np.abs(got - clean)[far].max() < 1e-6


def test_strided_images_give_the_same_bits(rng):
    image = rng.random((9, 10, 11)).astype("float32")
    expected = spinloom.denoise_nl_means(image, 3, 2, 0.3)
    wide = np.zeros((18, 10, 22), "float32")
    wide[::2, :, ::2] = image
    for view in (np.asfortranarray(image), wide[::2, :, ::2], image[::-1].copy()[::-1]):
        assert np.array_equal(spinloom.denoise_nl_means(view, 3, 2, 0.3), expected)


def test_channels_may_lie_on_any_axis(rng):
    image = rng.random((9, 10, 4)).astype("float32")
    last = spinloom.denoise_nl_means(image, 3, 2, 0.3, channel_axis=-1)
    first = spinloom.denoise_nl_means(np.moveaxis(image, -1, 0), 3, 2, 0.3, channel_axis=0)
    assert np.array_equal(np.moveaxis(first, 0, -1), last)


@pytest.mark.parametrize("fast_mode", [True, False])
def test_maps_of_one_value_equal_the_number(rng, fast_mode):
    image = rng.random((9, 10, 11))
    expected = spinloom.denoise_nl_means(image, 3, 2, 0.3, fast_mode, 0.1)
    h, sigma = np.full(image.shape, 0.3), np.full(image.shape, 0.1, "float32").astype("float64")
    got = spinloom.denoise_nl_means(image, 3, 2, h, fast_mode, sigma)
    assert np.abs(got - expected).max() < 1e-6


def test_a_map_is_used_voxel_by_voxel(rng):
    image = rng.random((10, 12))
    h = np.where(np.arange(12) < 6, 0.05, 1.0) * np.ones((10, 1))
    got = spinloom.denoise_nl_means(image, 3, 3, h)
    small, large = (spinloom.denoise_nl_means(image, 3, 3, v) for v in (0.05, 1.0))
    assert np.abs(got[:, :6] - small[:, :6]).max() < 1e-7 and np.abs(got[:, 6:] - large[:, 6:]).max() < 1e-7


def test_masked_voxels_are_copied(rng):
    image = rng.random((9, 10, 11))
    mask = rng.random(image.shape) > 0.5
    got = spinloom.denoise_nl_means(image, 3, 2, 0.3, mask=mask)
    assert np.array_equal(got[~mask], image[~mask])
    assert np.abs(got - spinloom.denoise_nl_means(image, 3, 2, 0.3))[mask].max() < 1e-7
    assert np.array_equal(spinloom.denoise_nl_means(image, 3, 2, 0.3, mask=mask.astype("uint8")), got)


def test_a_guide_that_is_the_image_changes_nothing(rng):
    image = rng.random((9, 10, 11))
    got = spinloom.denoise_nl_means(image, 3, 2, 0.3, guide=image)
    assert np.abs(got - spinloom.denoise_nl_means(image, 3, 2, 0.3)).max() < 1e-7


def test_sizes_may_differ_per_axis(rng):
    image = rng.random((9, 10, 11))
    assert np.array_equal(
        spinloom.denoise_nl_means(image, (3, 3, 3), [2, 2, 2], 0.3), spinloom.denoise_nl_means(image, 3, 2, 0.3)
    )
    assert not np.array_equal(
        spinloom.denoise_nl_means(image, 3, (0, 2, 2), 0.3), spinloom.denoise_nl_means(image, 3, 2, 0.3)
    )


def test_rician_bias_is_taken_off(rng):
    truth = 2.0
    noisy = np.abs(truth + rng.standard_normal((16, 16, 16)) + 1j * rng.standard_normal((16, 16, 16)))
    plain = spinloom.denoise_nl_means(noisy, 3, 5, 10.0, preserve_range=True)
    corrected = spinloom.denoise_nl_means(noisy, 3, 5, 10.0, sigma=1.0, rician=True, preserve_range=True)
    # The mean of the magnitude is sqrt(truth^2 + ...) above: 2.27; of its square truth^2 + 2.
    assert abs(corrected.mean() - truth) < 0.1 < plain.mean() - truth


@pytest.mark.parametrize("name", INDEX["estimate_sigma"])
def test_noise_estimates_are_scikit_images(name):
    image, entry = np.load(DATA / f"sigma_{name}.in.npy"), INDEX["estimate_sigma"][name]
    found = spinloom.estimate_sigma(image, channel_axis=entry["channel_axis"])
    assert np.allclose(found, entry["sigma"], rtol=1e-6 if image.dtype == np.float32 else 1e-14)
    if entry["channel_axis"] is not None:
        assert isinstance(found, list)
        mean = spinloom.estimate_sigma(image, average_sigmas=True, channel_axis=entry["channel_axis"])
        assert isinstance(mean, float) and np.isclose(mean, np.mean(entry["sigma"]))


@pytest.mark.parametrize("shape", [(40, 41), (20, 21, 22), (7, 9, 12)], ids=str)
def test_fresh_noise_estimates_equal_scikit_images(rng, shape):
    pytest.importorskip("pywt")
    image = rng.standard_normal(shape)
    # The same coefficients, summed in another order where vectors are wide.
    assert np.isclose(spinloom.estimate_sigma(image), theirs().estimate_sigma(image), rtol=1e-12)


def test_noise_is_estimated_from_any_layout(rng):
    image = rng.standard_normal((30, 31, 32)) * 0.25
    # The wavelet's coefficients at the border are of smaller variance.
    assert np.isclose(spinloom.estimate_sigma(image), 0.25, rtol=0.15)
    first = spinloom.estimate_sigma(np.moveaxis(image, -1, 0)[::2], channel_axis=0)
    assert np.allclose(first, spinloom.estimate_sigma(image[..., ::2].copy(), channel_axis=-1), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"patch_size": -1}, ValueError, "-1"),
        ({"patch_size": (3, 3)}, ValueError, "patch"),
        ({"patch_size": "a"}, TypeError, "patch_size is 'a', expected"),
        ({"h": 0.0}, ValueError, "h"),
        ({"h": "auto"}, TypeError, "expected a number"),
        ({"h": np.ones((3, 3))}, ValueError, "h"),
        ({"sigma": np.ones((9, 10, 11), "int64")}, TypeError, "sigma has dtype int64, expected float32 or float64"),
        ({"mask": np.full((9, 10, 11), np.nan)}, TypeError, "mask has dtype float64, expected bool or uint8"),
        ({"channel_axis": 7}, ValueError, "channel_axis is 7"),
        ({"compat": "opencv"}, ValueError, "expected None or 'scikit-image'"),
        ({"device": "cuda"}, RuntimeError, "cuda"),
        ({"progress": 3}, TypeError, "progress is not callable"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_in_words(options, kind, text):
    with pytest.raises(kind, match=text) as caught:
        spinloom.denoise_nl_means(np.ones((9, 10, 11)), **{"patch_size": 3, "patch_distance": 2, **options})
    assert "\n" not in str(caught.value)


def test_complex_images_are_refused():
    with pytest.raises(TypeError, match=r"take abs\(image\) or image\.real"):
        spinloom.denoise_nl_means(np.ones((8, 8), "complex64"))


def test_progress_is_reported_and_may_stop(rng):
    image = rng.random((24, 24, 24)).astype("float32")
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spinloom.denoise_nl_means(image, 3, 3, 0.3, progress=lambda *a: seen.append(a))
    assert seen and seen[-1][1] == 1

    def stop(*_):
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        spinloom.denoise_nl_means(image, 3, 3, 0.3, progress=stop)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "int16"])
def test_out_takes_the_result_and_mapped_files_are_read_where_they_lie(rng, tmp_path, dtype):
    image = (100 * rng.random((9, 20, 21))).astype(dtype)
    np.save(tmp_path / "in.npy", image)
    options = {"patch_size": 3, "patch_distance": 2, "h": 20.0, "preserve_range": True, "device": "cpu"}
    expected = spinloom.denoise_nl_means(image, **options)
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", expected.dtype, image.shape)
    mapped = np.load(tmp_path / "in.npy", mmap_mode="r")
    assert spinloom.denoise_nl_means(mapped, **options, out=out) is out
    out.flush()
    assert np.array_equal(np.load(tmp_path / "out.npy"), expected)
    assert np.array_equal(np.load(tmp_path / "in.npy"), image)


def test_large_images_of_integers_are_converted_in_slabs(rng):
    image = rng.integers(0, 1000, (70, 400, 401, 1), "uint16")  # 90 MB as float64
    options = {"patch_size": 3, "patch_distance": 1, "h": 0.01, "channel_axis": -1, "device": "cpu"}
    out = np.empty(image.shape)
    spinloom.denoise_nl_means(image, **options, out=out)
    assert np.array_equal(out, spinloom.denoise_nl_means(image * (1 / 65535), **options))


@pytest.mark.parametrize(
    ("out", "kind", "text"),
    [
        (np.empty((4, 5), "float64"), TypeError, "^out has dtype float64, expected float32; convert it"),
        (np.empty((5, 4), "float32"), spinloom.ShapeError, r"^out has shape \[5, 4\], expected \[4, 5\]$"),
        (np.empty((4, 10), "float32")[:, ::2], spinloom.ArgumentError, r"^out has strides \[10, 2\]"),
        (np.frombuffer(bytes(80), "float32").reshape(4, 5), spinloom.ArgumentError, "^out is read-only"),
    ],
)
def test_an_out_that_does_not_fit_is_refused(out, kind, text):
    with pytest.raises(kind, match=text):
        spinloom.denoise_nl_means(np.ones((4, 5), "float32"), 3, 1, out=out)


def test_out_shares_no_memory_with_the_image():
    image = np.ones((4, 5), "float32")
    with pytest.raises(spinloom.ArgumentError, match="^out shares memory with image, expected an array of its own$"):
        spinloom.denoise_nl_means(image, 3, 1, out=image)
    with pytest.raises(spinloom.ArgumentError, match="^out is given with compat='scikit-image'"):
        spinloom.denoise_nl_means(image, 3, 1, compat="scikit-image", out=image.copy())
