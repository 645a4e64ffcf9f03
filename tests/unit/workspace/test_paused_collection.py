"""Python's collector rests while a close is read, and works again afterwards, whatever happened."""

import gc
import threading

import pytest

from daybook.workspace.paused_collection import collection_paused


@pytest.fixture(autouse=True)
def _enabled() -> None:
    assert gc.isenabled()


def test_it_rests_until_the_last_pause_ends() -> None:
    with collection_paused():
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_failure_ends_the_pause() -> None:
    with pytest.raises(ValueError, match="broken"), collection_paused():
        raise ValueError("broken")
    assert gc.isenabled()


def test_pauses_of_threads_overlap() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def pause() -> None:
        with collection_paused():
            begun.set()
            may_end.wait(60)

    other = threading.Thread(target=pause)
    with collection_paused():
        other.start()
        assert begun.wait(60)
    assert not gc.isenabled()
    may_end.set()
    other.join(60)
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
