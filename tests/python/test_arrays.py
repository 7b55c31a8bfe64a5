"""Arrays of any layout give the bits of packed ones; nothing is converted silently; memory is shared where it can be."""

import sys

import numpy as np
import pytest
import spinloom
from conftest import random_complex, random_trajectory

MATRIX = (6, 7)


@pytest.fixture
def plan(rng):
    return spinloom.Nufft(random_trajectory(rng, (20,), MATRIX), MATRIX)


def layouts(packed):
    """The same values under other strides."""
    wide = np.zeros((packed.shape[0] * 2, packed.shape[1] * 3), packed.dtype)
    wide[::2, ::3] = packed
    turned = np.ascontiguousarray(packed[::-1, ::-1])
    record = np.zeros(packed.shape, dtype=[("a", packed.dtype), ("b", packed.dtype)])
    record["b"] = packed
    frozen = packed.copy()
    frozen.flags.writeable = False
    return {
        "fortran order": np.asfortranarray(packed),
        "every second": wide[::2, ::3],
        "backwards": turned[::-1, ::-1],
        "transposed": np.ascontiguousarray(packed.T).T,
        "field of a record": record["b"],
        "read-only": frozen,
    }


@pytest.mark.parametrize("layout", layouts(np.zeros((2, 2))).keys())
def test_strided_images_give_the_same_bits(rng, plan, layout):
    x = random_complex(rng, MATRIX, "complex64")
    view = layouts(x)[layout]
    assert np.array_equal(plan.forward(view), plan.forward(x))
    assert np.array_equal(view, x)


def test_strided_samples_give_the_same_bits(rng, plan):
    y = random_complex(rng, (20,), "complex64")
    longer = np.zeros(40, "complex64")
    longer[::2] = y
    assert np.array_equal(plan.adjoint(longer[::2]), plan.adjoint(y))
    assert np.array_equal(plan.adjoint(y[::-1].copy()[::-1]), plan.adjoint(y))


def test_strided_trajectories_give_the_same_bits(rng):
    k = random_trajectory(rng, (20,), MATRIX)
    x = random_complex(rng, MATRIX)
    expected = spinloom.nufft.forward(x, k)
    columns = np.stack([k[:, 0], k[:, 1]])  # [dims, samples], seen from the side
    for view in (columns.T, np.asfortranarray(k), k[::-1].copy()[::-1], np.repeat(k, 2, axis=0)[::2]):
        assert np.array_equal(spinloom.nufft.forward(x, view), expected)


def test_broadcast_arrays_are_read_rightly(rng):
    plan = spinloom.Nufft(random_trajectory(rng, (20,), MATRIX), MATRIX, 3)
    x = random_complex(rng, MATRIX, "complex64")
    same = np.broadcast_to(x, (3, *MATRIX))
    assert np.array_equal(plan.forward(same), plan.forward(same.copy()))


def test_misaligned_arrays_are_read_rightly(rng, plan):
    x = random_complex(rng, MATRIX, "complex64")
    raw = np.zeros(x.nbytes + 1, "uint8")
    odd = raw[1:].view("complex64").reshape(MATRIX)
    odd[:] = x
    assert np.array_equal(plan.forward(odd), plan.forward(x))


def test_single_precision_trajectories_are_taken_as_they_are(rng):
    k = random_trajectory(rng, (20,), MATRIX).astype("float32")
    x = random_complex(rng, MATRIX)
    assert np.array_equal(spinloom.nufft.forward(x, k), spinloom.nufft.forward(x, k.astype("float64")))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: x.astype("complex128"), r"x has dtype complex128, expected complex64; convert it, for example with "
                                           r"x\.astype\('complex64'\)"),
        (lambda x: x.real.copy(), r"x has dtype float32, expected complex64"),
        (lambda x: x.astype(">c8"), r"x is a ndarray of dtype >c8 that cannot be shared \(its bytes are swapped\); convert"),
        (lambda x: x.tolist(), r"x is of type list, expected an array"),
        (lambda x: None, r"x is of type NoneType, expected an array"),
        (lambda x: x.tobytes(), r"x is of type bytes, expected an array"),
        (lambda x: x.astype("object"), r"x is a ndarray of dtype object that cannot be shared"),
        (lambda x: x.real.astype("int16"), r"x has dtype int16, expected complex64"),
    ],
)
def test_other_element_types_are_refused_in_words(plan, make, text):
    with pytest.raises(TypeError, match=text) as caught:
        plan.forward(make(np.ones(MATRIX, "complex64")))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(), (6,), (7, 6), (1, 6, 7), (6, 0), (0,)])
def test_other_shapes_are_refused_in_words(plan, shape):
    with pytest.raises(spinloom.ShapeError, match=r"input has shape \[.*\], expected \[6, 7\]"):
        plan.forward(np.ones(shape, "complex64"))


def test_results_are_packed_writable_and_own_their_memory(rng, plan):
    y = plan.forward(random_complex(rng, MATRIX, "complex64"))
    assert type(y) is np.ndarray and y.flags.c_contiguous and y.flags.writeable and y.flags.aligned
    again = y.copy()
    del plan
    assert np.array_equal(y, again)


def test_out_is_written_where_it_lies(rng, plan):
    x = random_complex(rng, MATRIX, "complex64")
    out = np.full((20,), np.nan, "complex64")
    where = out.ctypes.data
    assert plan.forward(x, out=out) is out
    assert out.ctypes.data == where and np.array_equal(out, plan.forward(x))
    inside = np.full((3, 20), np.nan, "complex64")
    plan.forward(x, out=inside[1])
    assert np.array_equal(inside[1], out) and np.isnan(inside[[0, 2]]).all()


def test_out_that_cannot_serve_is_refused(rng):
    k = random_trajectory(rng, (20,), MATRIX)
    normal = spinloom.Nufft(k, MATRIX).N
    x = random_complex(rng, MATRIX, "complex64")
    frozen = np.zeros(MATRIX, "complex64")
    frozen.flags.writeable = False
    both = np.zeros((7, 7), "complex64")
    for arguments, text in [
        ((x, np.zeros((7, 6), "complex64")), r"out has shape \[7, 6\], expected \[6, 7\]"),
        ((x, np.zeros((7, 6), "complex64").T), r"out has strides \[1, 6\] \(in elements\), expected a packed array"),
        ((x, frozen), "out is read-only, expected an array to write to"),
        ((x, x), "out shares memory with x, expected an array of its own"),
        ((both[:6], both[1:]), "out shares memory with x"),
    ]:
        with pytest.raises(ValueError, match=text):
            normal.forward(*arguments)
    with pytest.raises(TypeError, match="out has dtype complex128, expected complex64"):
        normal.forward(x, np.zeros(MATRIX, "complex128"))


class Producer:
    """An array of a library that nobody knows: it speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array
        self.exports = 0

    def __dlpack__(self, **options):
        self.exports += 1
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_any_dlpack_producer_is_read(rng, plan):
    x = random_complex(rng, MATRIX, "complex64")
    foreign = Producer(x)
    assert np.array_equal(plan.forward(foreign), plan.forward(x))
    assert foreign.exports >= 1


def test_dlpack_is_written_without_a_copy(rng, plan):
    x = random_complex(rng, MATRIX, "complex64")
    out = np.full((20,), np.nan, "complex64")
    plan.forward(Producer(x), out=Producer(out))
    assert np.array_equal(out, plan.forward(x))


def test_results_go_on_by_dlpack_without_a_copy(rng, plan):
    y = plan.forward(random_complex(rng, MATRIX, "complex64"))
    assert np.from_dlpack(y).ctypes.data == y.ctypes.data


class NotHere(Producer):
    def __dlpack__(self, **options):
        raise BufferError("cannot export to the host")


def test_arrays_that_cannot_be_exported_are_refused(plan):
    with pytest.raises(TypeError, match="x is a NotHere that cannot be shared: cannot export to the host"):
        plan.forward(NotHere(np.ones(MATRIX, "complex64")))


class OfBeforeVersions(Producer):
    def __dlpack__(self, stream=None):
        return super().__dlpack__()


def test_producers_of_before_versions_are_read(rng, plan):
    x = random_complex(rng, MATRIX, "complex64")
    assert np.array_equal(plan.forward(OfBeforeVersions(x)), plan.forward(x))


def test_read_only_producers_are_read_and_not_written(rng, plan):
    x, y = random_complex(rng, MATRIX, "complex64"), np.zeros(20, "complex64")
    x.flags.writeable = y.flags.writeable = False
    assert np.array_equal(plan.forward(Producer(x)), plan.forward(x))
    with pytest.raises(ValueError, match="read-only"):
        plan.forward(x, out=Producer(y))


def test_a_mask_is_not_lost_silently(plan):
    with pytest.raises(TypeError, match="masked array, whose mask would be lost"):
        plan.forward(np.ma.masked_array(np.ones(MATRIX, "complex64"), np.zeros(MATRIX)))


def test_results_come_back_as_the_kind_that_was_given(rng, plan, monkeypatch):
    import types

    library = types.ModuleType("someones_arrays")
    wrapped = []
    library.from_dlpack = lambda a: wrapped.append(a) or Producer(a)
    monkeypatch.setitem(sys.modules, "someones_arrays", library)
    theirs = type("Theirs", (Producer,), {"__module__": "someones_arrays.core"})
    x = random_complex(rng, MATRIX, "complex64")
    y = plan.forward(theirs(x))
    assert type(y) is Producer and y.array is wrapped[0] and np.array_equal(y.array, plan.forward(x))


def test_torch_tensors_go_in_and_out(rng, plan):
    torch = pytest.importorskip("torch")
    x = random_complex(rng, MATRIX, "complex64")
    y = plan.forward(torch.from_numpy(x))
    assert isinstance(y, torch.Tensor) and np.array_equal(y.numpy(), plan.forward(x))
    for lazy in (torch.from_numpy(x).conj(), torch.from_numpy(x).requires_grad_()):
        with pytest.raises(TypeError, match="x is a Tensor that cannot be shared: Can't export"):
            plan.forward(lazy)


def test_a_trajectory_is_not_held(rng):
    k = random_trajectory(rng, (20,), MATRIX)
    count = sys.getrefcount(k)
    plan = spinloom.Nufft(k, MATRIX)
    assert sys.getrefcount(k) == count
    x = random_complex(rng, MATRIX, "complex64")
    before = plan.forward(x)
    k[:] = 0
    assert np.array_equal(plan.forward(x), before)


def test_nothing_leaks_over_many_calls(rng, plan):
    x = random_complex(rng, MATRIX, "complex64")
    count = sys.getrefcount(x)
    for _ in range(100):
        plan.forward(x)
        with pytest.raises(TypeError):
            plan.forward(x.real)
    assert sys.getrefcount(x) == count


@pytest.mark.parametrize("matrix", ["ab", 2.5, (2.5, 3), (4, "5"), None, {4, 5}])
def test_a_matrix_that_is_none_is_refused(matrix):
    with pytest.raises(TypeError, match="matrix is .*, expected voxel counts as a tuple"):
        spinloom.Nufft(np.zeros((3, 2)), matrix)


def test_numpy_integers_serve_as_sizes(rng):
    k = random_trajectory(rng, (5,), MATRIX)
    assert spinloom.Nufft(k, np.array(MATRIX).tolist()).domain == MATRIX
    assert spinloom.Nufft(k, tuple(np.array(MATRIX))).domain == MATRIX
    assert spinloom.Nufft(k, list(MATRIX)).domain == MATRIX
