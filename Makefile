# make demo    installs what is missing, builds, and reconstructs a real scan
# make test    installs what is missing, builds, and passes every test; WITH_PYTHON=OFF leaves the Python package out
# make python  the Python package in build/venv, which build/venv/bin/python then imports
.PHONY: all dependencies environment configure build demo test python sanitize format clean
BUILD ?= build/release
JOBS ?= $(shell nproc)
WITH_PYTHON ?= ON

all: build

dependencies:
	@tools/install-dependencies

environment: dependencies
	@if [ $(WITH_PYTHON) = ON ]; then tools/python-environment; fi

configure: dependencies
	@cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release

build: configure
	@cmake --build $(BUILD) --parallel $(JOBS)

demo: configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target spinloom_command
	@tools/demo $(BUILD)/spinloom

test: environment
	@cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DSPINLOOM_PYTHON=$(WITH_PYTHON) \
	  -DPython_EXECUTABLE=$(CURDIR)/build/venv/bin/python
	@cmake --build $(BUILD) --parallel $(JOBS)
	@ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS)

# A wheel of what the build folder compiled; `pip install .` elsewhere compiles for itself.
python: environment
	@cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DSPINLOOM_PYTHON=ON \
	  -DPython_EXECUTABLE=$(CURDIR)/build/venv/bin/python
	@cmake --build $(BUILD) --parallel $(JOBS) --target spinloom_python_package
	@build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall \
	  --config-settings=cmake.define.SPINLOOM_PYTHON_BUILT=$(CURDIR)/$(BUILD)/python .
	@build/venv/bin/python -c 'import spinloom; print("spinloom", spinloom.__version__, "in build/venv")'

sanitize: dependencies
	@cmake -S . -B build/asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSPINLOOM_SANITIZE=address,undefined
	@cmake --build build/asan --parallel $(JOBS)
	@ctest --test-dir build/asan --output-on-failure --parallel $(JOBS)

format:
	@git ls-files '*.cpp' '*.hpp' '*.cu' | xargs clang-format -i

clean:
	@rm -rf build demo-output
