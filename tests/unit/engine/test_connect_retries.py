"""Requests to a Connect server are repeated for about a minute, and no longer after one of them was given up."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

import grpc  # type: ignore[import-untyped]
import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql.connect.client.retries import Retrying

from daybook.engine.java import connect


class Unavailable(grpc.RpcError):  # type: ignore[misc]
    def code(self) -> Any:
        return grpc.StatusCode.UNAVAILABLE

    def trailing_metadata(self) -> None:
        """No details of a status."""


class Client:
    def set_retry_policies(self, policies: list[Any]) -> None:
        self.policies = policies

    def ask(self, waits: list[float]) -> int:
        """The number of times that a request was sent to a server that is gone."""
        sent = 0

        def send() -> NoReturn:
            nonlocal sent
            sent += 1
            raise Unavailable

        with pytest.raises((PySparkException, Unavailable)):
            repeat(self.policies, waits, send)
        return sent


def repeat(policies: list[Any], waits: list[float], send: Callable[[], None]) -> None:
    for attempt in Retrying(policies, sleep=waits.append):
        with attempt:
            send()


def test_after_a_request_was_given_up_the_next_ones_are_sent_once() -> None:
    client, is_lost = Client(), threading.Event()
    connect._limit_retries(SimpleNamespace(client=client), is_lost.is_set, connect._LATER_RETRIES, given_up=is_lost.set)
    waits: list[float] = []
    assert client.ask(waits) == 1 + connect._LATER_RETRIES
    assert 60 < sum(waits) < 120
    assert client.ask([]) == 1


def test_an_answer_after_a_while_is_taken() -> None:
    client, is_lost = Client(), threading.Event()
    connect._limit_retries(SimpleNamespace(client=client), is_lost.is_set, connect._LATER_RETRIES, given_up=is_lost.set)
    answers = iter([Unavailable(), Unavailable(), None])
    for attempt in Retrying(client.policies, sleep=lambda seconds: None):
        with attempt:
            if (failure := next(answers)) is not None:
                raise failure
    assert not is_lost.is_set()
