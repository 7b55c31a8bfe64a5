# make demo   installs what is missing, builds, and reconstructs a real scan
# make test   installs what is missing, builds, and passes every test
.PHONY: all dependencies configure build demo test sanitize format clean
BUILD ?= build/release
JOBS ?= $(shell nproc)

all: build

dependencies:
	@tools/install-dependencies

configure: dependencies
	@cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release

build: configure
	@cmake --build $(BUILD) --parallel $(JOBS)

demo: configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target spinloom_command
	@tools/demo $(BUILD)/spinloom

test: build
	@ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS)

sanitize: dependencies
	@cmake -S . -B build/asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSPINLOOM_SANITIZE=address,undefined
	@cmake --build build/asan --parallel $(JOBS)
	@ctest --test-dir build/asan --output-on-failure --parallel $(JOBS)

format:
	@git ls-files '*.cpp' '*.hpp' '*.cu' | xargs clang-format -i

clean:
	@rm -rf build demo-output
