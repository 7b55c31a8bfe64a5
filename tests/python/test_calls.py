"""Long calls leave other threads alone, can be stopped, report progress, and give the same bits from any thread."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import spinloom
from conftest import random_complex, random_trajectory


@pytest.fixture(scope="module")
def long_call():
    """Half a second of work or more in one call: many coils, transformed one after the other."""
    rng = np.random.default_rng(1)
    matrix = (32, 32, 32)
    plan = spinloom.Nufft(random_trajectory(rng, (50_000,), matrix), matrix, 64)
    x = random_complex(rng, plan.domain, "complex64")
    return plan, x, plan.forward(x)


class Begun:
    """A result that shows how far a call has come: it is all NaN before, and filled coil by coil."""

    def __init__(self, plan):
        self.array = np.full(plan.range, np.nan, "complex64")

    def wait(self):
        """Until the first coil is written."""
        while np.isnan(self.array[0, -1]):
            time.sleep(0.001)

    @property
    def is_whole(self):
        return not np.isnan(self.array[-1]).any()


def interrupt_when(*calls):
    """Ctrl-C as soon as all these have begun."""

    def work():
        for call in calls:
            call.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=work, daemon=True).start()


@pytest.fixture
def all_threads():
    before = spinloom.threads()
    yield
    spinloom.set_threads(before)


def test_results_do_not_depend_on_the_thread_count(rng, all_threads):
    matrix = (20, 21, 22)
    k = random_trajectory(rng, (3000,), matrix)
    w = rng.random(3000)
    x = random_complex(rng, (2, *matrix), "complex64")
    results = []
    for threads in (1, 2, 5):
        spinloom.set_threads(threads)
        assert spinloom.threads() == threads
        plan = spinloom.Nufft(k, matrix, 2)
        y = plan @ x
        results.append([y, plan.H @ y, spinloom.NormalOperator(k, matrix, w, 2) @ x])
    for other in results[1:]:
        for a, b in zip(results[0], other):
            assert np.array_equal(a, b)


def test_thread_counts_out_of_range_are_refused():
    with pytest.raises(ValueError, match="thread count -1 is outside 0"):
        spinloom.set_threads(-1)


def test_several_python_threads_at_once_give_the_same_bits(rng):
    matrix = (18, 20, 16)
    k = random_trajectory(rng, (4000,), matrix)
    plan, normal = spinloom.Nufft(k, matrix), spinloom.NormalOperator(k, matrix)
    xs = [random_complex(rng, matrix, "complex64") for _ in range(6)]
    expected = [(plan @ x, normal @ x) for x in xs]
    failures = []

    def work(i):
        for _ in range(10):
            # Planning and applying, shared and apart.
            own = spinloom.Nufft(k, matrix)
            if not all(np.array_equal(a, b) for a, b in zip((own @ xs[i], normal @ xs[i]), expected[i])):
                failures.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures


def test_other_threads_run_on_during_a_call(long_call):
    plan, x, expected = long_call
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            time.sleep(0.001)
            ticks.append(time.perf_counter())

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.perf_counter()
    y = plan.forward(x)
    end = time.perf_counter()
    done.set()
    ticker.join()
    assert np.array_equal(y, expected)
    # With the GIL held there would be none.
    assert len([t for t in ticks if start < t < end]) > 10


def test_ctrl_c_stops_a_call(long_call):
    plan, x, expected = long_call
    out = Begun(plan)
    interrupt_when(out)
    with pytest.raises(KeyboardInterrupt):
        plan.forward(x, out=out.array)
    assert not out.is_whole
    # Nothing is left behind: the next call works, and Ctrl-C is Python's again.
    assert np.array_equal(plan.forward(x), expected)
    with pytest.raises(KeyboardInterrupt):
        interrupt_when()
        time.sleep(30)


def test_a_handler_of_the_users_is_called(long_call):
    plan, x, _ = long_call
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        out = Begun(plan)
        interrupt_when(out)
        with pytest.raises(KeyboardInterrupt):
            plan.forward(x, out=out.array)
        assert seen == [signal.SIGINT] and not out.is_whole
        # And it is still there.
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        assert seen == [signal.SIGINT] * 2
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_that_is_ignored_stays_ignored(long_call):
    plan, x, expected = long_call
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        out = Begun(plan)
        interrupt_when(out)
        assert np.array_equal(plan.forward(x, out=out.array), expected)
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_leaves_a_background_call_alone(long_call):
    plan, x, expected = long_call
    out = Begun(plan)
    worker = threading.Thread(target=lambda: plan.forward(x, out=out.array))
    interrupt_when(out)
    with pytest.raises(KeyboardInterrupt):
        worker.start()
        time.sleep(60)
    worker.join()
    assert np.array_equal(out.array, expected)


def test_ctrl_c_in_the_main_call_stops_background_calls_in_words(long_call):
    plan, x, expected = long_call
    main, background, errors = Begun(plan), Begun(plan), []

    def work():
        try:
            plan.forward(x, out=background.array)
        except Exception as error:
            errors.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    interrupt_when(background, main)
    with pytest.raises(KeyboardInterrupt):
        plan.forward(x, out=main.array)
    worker.join()
    assert [type(e) for e in errors] == [spinloom.Interrupted]
    assert not main.is_whole and not background.is_whole
    assert np.array_equal(plan.forward(x), expected)


def test_calls_that_begin_while_others_are_stopped_do_not_wait_for_one_another():
    done = run_python("""
        import os, signal, threading, time, numpy as np, spinloom
        rng = np.random.default_rng(1)
        k = (rng.random((20000, 3)) - .5) * 24
        long, small = spinloom.Nufft(k, (24, 24, 24), 64), spinloom.Nufft(k[:50] / 4, (8, 8, 8))
        x, y = (rng.standard_normal(p.domain).astype("complex64") for p in (long, small))

        def begin_calls():
            while True:
                try:
                    small.forward(y)
                except spinloom.Interrupted:
                    pass

        for _ in range(3):
            threading.Thread(target=begin_calls, daemon=True).start()
        for _ in range(10):
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                while True:
                    long.forward(x)
            except KeyboardInterrupt:
                pass
        print("went on", flush=True)
        os._exit(0)  # with threads at work
    """)
    assert done.stdout == "went on\n", done.stderr


def small_scan(rng):
    k = spinloom.trajectories.radial2d((24, 24), 20)
    return spinloom.simulate("shepp-logan", k, (24, 24), coils=3, seed=int(rng.integers(1 << 30))), k


def test_progress_ends_at_one(rng):
    scan, k = small_scan(rng)
    seen = []
    spinloom.recon(scan.kspace, k, (24, 24), scan.maps, progress=lambda *a: seen.append(a))
    stages = {stage for stage, _, _ in seen}
    assert "conjugate gradients" in stages
    fractions = [f for stage, f, _ in seen if stage == "conjugate gradients"]
    # It follows the residual, which may rise for a while.
    assert fractions[0] == 0 and fractions[-1] == 1 and all(0 <= f <= 1 for f in fractions)
    assert all(isinstance(detail, str) for _, _, detail in seen)


def test_an_exception_of_progress_goes_through(rng):
    scan, k = small_scan(rng)

    class Enough(Exception):
        pass

    def progress(stage, fraction, detail):
        raise Enough(stage)

    with pytest.raises(Enough, match="conjugate gradients"):
        spinloom.recon(scan.kspace, k, (24, 24), scan.maps, progress=progress)
    # Only that call was stopped.
    assert spinloom.recon(scan.kspace, k, (24, 24), scan.maps).convergence.converged


def test_progress_may_call_the_library(rng):
    scan, k = small_scan(rng)
    inner = []
    result = spinloom.recon(
        scan.kspace, k, (24, 24), scan.maps,
        progress=lambda *a: inner.append(spinloom.nufft.forward(scan.truth, k).shape),
    )
    assert result.convergence.converged and set(inner) == {k.shape[:-1]}


def test_progress_must_be_callable(rng):
    scan, k = small_scan(rng)
    with pytest.raises(TypeError, match="progress is not callable"):
        spinloom.recon(scan.kspace, k, (24, 24), progress=3)


def test_warnings_point_at_the_caller(rng):
    k = random_trajectory(rng, (9,), (8, 8))
    with pytest.warns(spinloom.SpinloomWarning, match="beyond single precision") as caught:
        spinloom.Nufft(k, (8, 8), tolerance=1e-12)
        spinloom.nufft.forward(np.ones((8, 8), "complex64"), k, tolerance=1e-12)
    assert [w.filename for w in caught] == [__file__, __file__]


def test_notes_go_to_the_log(rng, caplog):
    scan, k = small_scan(rng)
    with caplog.at_level("INFO", logger="spinloom"):
        spinloom.recon(scan.kspace, k, (24, 24), scan.maps)
    assert any("24" in record.message for record in caplog.records)


def run_python(code, timeout=120):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here")
def test_a_forked_child_does_not_hang():
    done = run_python("""
        import multiprocessing, numpy as np, spinloom
        rng = np.random.default_rng(1)
        k = (rng.random((2000, 3)) - .5) * 16
        x = rng.standard_normal((16, 16, 16)) + 0j
        before = spinloom.nufft.forward(x, k)        # starts threads in the parent

        def work(i):
            try:
                spinloom.set_threads(3)
            except ValueError as error:
                assert "spawn" in str(error)
            return np.array_equal(spinloom.nufft.forward(x, k), before) and spinloom.threads() == 1

        with multiprocessing.get_context("fork").Pool(3) as pool:
            assert pool.map(work, range(6)) == [True] * 6
        assert np.array_equal(spinloom.nufft.forward(x, k), before)
    """)
    assert done.returncode == 0, done.stderr


def test_the_import_changes_nothing_of_numpy():
    done = run_python("""
        import numpy as np
        rng = np.random.default_rng(1)
        a = rng.standard_normal((300, 300))
        before = [a @ a, np.fft.fft(a), np.array([1e-310]) * 0.5]
        state = np.geterr()
        import spinloom
        spinloom.nufft.forward(np.ones((8, 8), "complex64"), np.zeros((4, 2)) + .1)
        after = [a @ a, np.fft.fft(a), np.array([1e-310]) * 0.5]
        assert all(np.array_equal(x, y) for x, y in zip(before, after))
        assert after[2][0] == 5e-311 and np.geterr() == state
    """)
    assert done.returncode == 0, done.stderr


def test_the_import_is_quick_and_quiet():
    done = run_python("import numpy, time; t = time.perf_counter(); import spinloom; print(time.perf_counter() - t)")
    assert done.returncode == 0 and done.stderr == ""
    assert float(done.stdout) < 3  # 0.1 s on an idle machine
