"""The package is whole: documented, typed, of the library's version, and a wheel of it installs."""

import importlib
import inspect
import os
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import spinloom

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = pathlib.Path(spinloom.__file__).parent
BUILT = os.environ.get("SPINLOOM_PYTHON_BUILT")
MODULES = ["", ".io", ".nufft", ".stencil", ".trajectories"]


def public():
    for name in MODULES:
        module = importlib.import_module("spinloom" + name)
        for attribute in module.__all__:
            yield f"{module.__name__}.{attribute}", getattr(module, attribute)


def test_every_public_name_is_documented():
    missing = [name for name, value in public() if callable(value) and not inspect.getdoc(value)]
    methods = [
        f"{name}.{m}"
        for name, value in public()
        if inspect.isclass(value) and not issubclass(value, BaseException)
        for m, f in vars(value).items()
        if not m.startswith("_") and (inspect.isfunction(f) or isinstance(f, property)) and not inspect.getdoc(f)
    ]
    assert not missing and not methods


def test_every_public_function_is_typed():
    untyped = []
    for name, value in public():
        if inspect.isfunction(value):
            signature = inspect.signature(value)
            parts = [p.annotation for p in signature.parameters.values()] + [signature.return_annotation]
            untyped += [name] if inspect.Signature.empty in parts else []
    assert not untyped


def test_stubs_and_marker_lie_beside_the_extension():
    assert (PACKAGE / "py.typed").exists()
    stub = (PACKAGE / "_core.pyi").read_text()
    for name in ("def make_fourier(", "def cg(", "class Operator:", "def recon("):
        assert name in stub


def test_the_version_is_the_librarys():
    assert spinloom.__version__ == (ROOT / "VERSION").read_text().strip()
    assert spinloom.info()["version"] == spinloom.__version__


def test_info_tells_of_the_machine():
    info = spinloom.info()
    assert info["cores"] >= 1 and info["memory_bytes"] > 0 and info["backends"]["cpu"] == "used"
    assert all({"present", "file", "status"} == set(entry) for entry in info["libraries"].values())


@pytest.mark.skipif(not BUILT, reason="SPINLOOM_PYTHON_BUILT names no build folder")
def test_a_wheel_of_the_build_installs_and_works(tmp_path):
    # The same pyproject.toml as `pip install .`, with the library that the build folder has compiled.
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--no-build-isolation", f"--config-settings=cmake.define.SPINLOOM_PYTHON_BUILT={BUILT}", "-w", tmp_path, ROOT],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob(f"spinloom-{spinloom.__version__}-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    sources = {p.name for p in (ROOT / "python" / "spinloom").iterdir() if p.suffix in (".py", ".typed")}
    packaged = {n.partition("/")[2] for n in names if n.startswith("spinloom/")}
    assert sources | {"_core.pyi"} <= packaged
    assert packaged - sources - {"_core.pyi"} == {n for n in packaged if n.startswith("_core.") and n.endswith(".so")}
    assert any(n.endswith("licenses/LICENSE") for n in names)

    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-c", "import spinloom, numpy; print(spinloom.__file__);"
         "print(abs(spinloom.nufft.forward(numpy.ones((8, 8), 'complex64'), numpy.zeros((1, 2)))[0] - 64) < 1e-2)"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [str(tmp_path / "site" / "spinloom" / "__init__.py"), "True"]


def test_sources_of_the_package_are_all_built():
    assert {p.name for p in (ROOT / "python" / "spinloom").glob("*.py")} == {p.name for p in PACKAGE.glob("*.py")}


def test_a_plan_can_be_dropped_while_results_live():
    y = spinloom.Nufft(np.zeros((5, 2)), (4, 4)).forward(np.ones((4, 4), "complex64"))
    assert np.allclose(y, 16)
