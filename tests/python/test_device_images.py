"""Images on a GPU are filtered where they lie, and those of the host with its help."""

import numpy as np
import pytest
import spinloom
from conftest import relative_error
from device_arrays import MATRIX, Elsewhere, on_gpu


@pytest.mark.parametrize("device", ["cpu", "reference", "cuda:7"])
def test_an_image_on_a_gpu_is_filtered_there_or_not_at_all(device):
    with pytest.raises(spinloom.ArgumentError) as caught:
        spinloom.denoise_nl_means(Elsewhere(dtype="float32"), device=device)
    asked = device if device.startswith("cuda") else "the host"
    assert str(caught.value) == (
        f"image lies on cuda:0, expected {asked} as device='{device}' asks for; copy it there, or leave device away"
    )


@pytest.mark.parametrize("name", ["h", "sigma", "guide", "mask"])
def test_maps_lie_where_the_image_does(name):
    with pytest.raises(spinloom.ArgumentError, match=f"^{name} lies on cuda:0, expected the host as the image lies there$"):
        spinloom.denoise_nl_means(np.ones(MATRIX, "float32"), **{name: Elsewhere()})


@pytest.mark.parametrize("channel_axis", [None, -1])
def test_noise_is_estimated_on_the_host(channel_axis):
    x = Elsewhere(dtype="float32")
    with pytest.raises(spinloom.ArgumentError, match="^image lies on cuda:0, expected memory of the host; copy it there"):
        spinloom.estimate_sigma(x, channel_axis=channel_axis)
    assert x.exports == 0


@on_gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_images_on_a_gpu_are_denoised_there(rng, library, dtype):
    image = rng.random((19, 22, 17)).astype(dtype)
    extras = {
        "h": (0.1 + 0.05 * rng.random(image.shape)).astype(dtype),
        "sigma": (0.02 * rng.random(image.shape)).astype(dtype),
        "guide": rng.random(image.shape).astype(dtype),
        "mask": rng.random(image.shape) > 0.3,
    }
    options = {"patch_size": 3, "patch_distance": 3, "sigma": 0.05, "h": 0.08}
    for chosen in ({}, {"fast_mode": False}, {"rician": True}, *({name: extras[name]} for name in extras), extras):
        given = {**options, **chosen}
        there = {name: library.send(v) if isinstance(v, np.ndarray) else v for name, v in given.items()}
        out = spinloom.denoise_nl_means(library.send(image), **there)
        assert isinstance(out, library.type)
        of_numpy = spinloom.denoise_nl_means(image, **given, device="cuda")
        assert type(of_numpy) is np.ndarray and np.array_equal(library.fetch(out), of_numpy), chosen.keys()
    colours = rng.random((20, 21, 3)).astype(dtype)
    out = spinloom.denoise_nl_means(library.send(colours), 5, 6, channel_axis=-1)
    assert np.array_equal(library.fetch(out), spinloom.denoise_nl_means(colours, 5, 6, channel_axis=-1, device="cuda"))


@on_gpu
def test_images_that_a_gpu_would_have_to_convert_are_refused(rng, library):
    image = library.send(rng.random((3, 8, 9)).astype("float32"))
    for call, kind, text in [
        (lambda: spinloom.denoise_nl_means(library.send(np.ones((8, 9), "int16"))), TypeError,
         "^image has dtype int16, expected float32 or float64; convert it"),
        (lambda: spinloom.denoise_nl_means(image, channel_axis=0), spinloom.ArgumentError,
         "^image lies on cuda:0 with channels along axis 0, expected them along the last"),
        (lambda: spinloom.denoise_nl_means(image, compat="scikit-image"), spinloom.ArgumentError,
         "^image lies on cuda:0, where compat='scikit-image' has no path"),
        (lambda: spinloom.denoise_nl_means(image, sigma=library.send(np.ones((3, 8, 9)))), TypeError,
         "^sigma has dtype float64, expected float32"),
        (lambda: spinloom.denoise_nl_means(image, h=np.ones((3, 8, 9), "float32")), spinloom.ArgumentError,
         "^h lies on the host, expected cuda:0 as the image lies there"),
        (lambda: spinloom.denoise_nl_means(image, device="cpu"), spinloom.ArgumentError,
         "^image lies on cuda:0, expected the host as device='cpu' asks for"),
    ]:  # fmt: skip
        with pytest.raises(kind, match=text):
            call()


@on_gpu
def test_reconstructions_of_the_host_may_use_the_gpu(rng):
    k = spinloom.trajectories.radial2d((24, 24), 40)
    scan = spinloom.simulate("shepp-logan", k, (24, 24), coils=3)
    cpu = spinloom.recon(scan.kspace, k, (24, 24), scan.maps, device="cpu")
    gpu = spinloom.recon(scan.kspace, k, (24, 24), scan.maps, device="cuda", verify=True)
    assert type(gpu.image) is np.ndarray and gpu.verification["relative_error_normal"] < 1e-3
    # Both stop at a residual of 1e-3, on either side of the last digit that it leaves.
    assert relative_error(gpu.image, cpu.image) < 1e-2


@on_gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_filtered_images_go_where_out_says(rng, library, dtype):
    image = rng.random((19, 22, 17)).astype(dtype)
    options = {"patch_size": 3, "patch_distance": 2, "sigma": 0.05, "h": 0.08}
    expected = spinloom.denoise_nl_means(image, **options, device="cuda")
    out = library.empty(image.shape, dtype)
    assert spinloom.denoise_nl_means(library.send(image), **options, out=out) is out
    assert np.array_equal(library.fetch(out), expected)
    on_host = np.full_like(image, np.nan)
    assert spinloom.denoise_nl_means(image, **options, device="cuda", out=on_host) is on_host
    assert np.array_equal(on_host, expected)
    with pytest.raises(spinloom.ArgumentError, match="^out lies on cuda:0, expected the host as image lies there$"):
        spinloom.denoise_nl_means(image, **options, device="cuda", out=out)


@on_gpu
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint16"])
def test_mapped_files_are_filtered_a_slab_at_a_time(rng, tmp_path, dtype):
    # 90 MB in working precision and more, so that integers are converted in slabs too.
    shape = (160, 300, 500)
    scale = 1000 if dtype == "uint16" else 1
    source = np.lib.format.open_memmap(tmp_path / "in.npy", "w+", dtype, shape)
    source[...] = (scale * rng.random(shape, "float32")).astype(dtype)
    working = "float32" if dtype == "float32" else "float64"
    options = {"patch_size": 3, "patch_distance": 1, "sigma": 0.05 * scale, "h": 0.3 * scale, "preserve_range": True}
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", working, shape)
    mapped = np.load(tmp_path / "in.npy", mmap_mode="r")
    assert spinloom.denoise_nl_means(mapped, **options, device="cuda", out=out) is out
    out.flush()
    assert np.array_equal(np.load(tmp_path / "out.npy"), spinloom.denoise_nl_means(np.array(mapped), **options, device="cpu"))
