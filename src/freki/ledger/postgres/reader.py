"""Reading a store on a server: one moment of it, in little memory, and nothing is changed."""

import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg

from freki.ledger.place import Address
from freki.ledger.postgres.link import PATIENCE, Line, Server

# Rows that are fetched at once.
STRETCH = 100

# Seconds for the next rows of an answer, where somebody waits for it.
LONGEST_QUESTION = 60.0

READING: Final = """
SET search_path TO {schema};
SET default_transaction_read_only TO on;
SET jit TO off
"""


class Reader(Server):
    """A `Database` that cannot write, and answers from one moment: that of its first question.

    What is iterated comes in stretches, so that a store of any size is read in little memory.
    """

    def __init__(self, address: Address, patience: float = PATIENCE) -> None:
        super().__init__(address, patience=patience)

    def rest(self) -> bool:
        """Let go of the moment; the next question is the first of another one."""
        try:
            self._line.rollback()
        except psycopg.Error:
            return False
        return not self._line.closed

    def _connect(self) -> Line:
        self._settings = READING.format(schema=self._address.schema)
        line = super()._connect()
        line.autocommit = False
        if self._is_hasty:
            line.silence = LONGEST_QUESTION
        line.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return line

    def execute(self, statement: str, parameters: Any = (), /) -> Any:
        return _Question(self, *self.spelt_out(statement, parameters))

    def answer(self, text: str, given: Any) -> Any:
        """All at once."""
        return self._try(lambda: self._line.execute(text, given))

    def stretches(self, text: str, given: Any) -> Any:
        """Bit by bit."""
        return self._try(lambda: self._stretches(text, given))

    def _stretches(self, text: str, given: Any) -> Any:
        cursor = self._line.cursor(f"stretch_{time.monotonic_ns()}")
        cursor.itersize = STRETCH
        return cursor.execute(text, given)


class _Question:
    """A statement that is sent when somebody wants to know; how depends on how they ask."""

    def __init__(self, reader: Reader, text: str, given: Any) -> None:
        self._reader = reader
        self._asked = (text, given)
        self._answer: Any = None

    @property
    def rowcount(self) -> int:
        return -1

    @property
    def lastrowid(self) -> int | None:
        return None

    @property
    def description(self) -> Any:
        return self._stretches().description

    def fetchone(self) -> Any:
        if self._answer is None:
            self._answer = self._reader.answer(*self._asked)
        return self._answer.fetchone()

    def fetchall(self) -> list[Any]:
        answer: list[Any] = self._reader.answer(*self._asked).fetchall()
        return answer

    def __iter__(self) -> Iterator[Any]:
        with self._stretches() as rows:
            yield from rows

    def _stretches(self) -> Any:
        if self._answer is None:
            self._answer = self._reader.stretches(*self._asked)
        return self._answer
