"""The connection to PostgreSQL: of a command, which fails at once, and of a node, which outlasts a restart."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, Any

import psycopg
from procrastinate import PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.sql import queries

from crawlers.exceptions import HarvestError
from crawlers.operate.queue import shown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_PAUSE = 1.0  # seconds until a statement is repeated
_SKEW = 60  # seconds that the clocks of a node and of the database may differ
_SCHEMA_LOCK = 0x63617461  # any number that is always the same: nodes that start together make the tables once
UTF8: dict[str, Any] = {"client_encoding": "utf8"}
_FUNCTION = re.compile(r"procrastinate_\w+_v\d+(?=\()")
_LIFE = {queries["register_worker"], queries["update_heartbeat"]}
"""The statements that let the other nodes know that this one lives."""


class NodeConnector(PsycopgConnector):
    """Repeats statements until the database answers, as long as no other node can have been given this one's jobs.

    After that, its statements never end, since all that this node could say of its jobs is obsolete.

    Args:
        address: of the database.
        patience: seconds without a sign of life after which other nodes take a node for dead.
    """

    def __init__(self, address: str, patience: float) -> None:
        super().__init__(conninfo=address, min_size=1, max_size=4, timeout=_PAUSE, kwargs={"connect_timeout": 5} | UTF8)
        self.patience = patience
        self.seen = time.monotonic()
        self.was_lost = False

    @property
    def is_lost(self) -> bool:
        """Whether other nodes may soon take this one for dead, or already do; once so, it stays so.

        A sign of life that comes after that is no way back: a statement that never ends may be the end of a job.
        """
        self.was_lost = self.was_lost or time.monotonic() - self.seen > self.patience / 2
        return self.was_lost

    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        await self._repeated(super().execute_query_async, query, arguments)

    async def execute_query_one_async(self, query: Any, **arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = await self._repeated(super().execute_query_one_async, query, arguments)
        return found

    async def execute_query_all_async(self, query: Any, **arguments: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self._repeated(super().execute_query_all_async, query, arguments)
        return found

    async def _repeated(self, ask: Callable[..., Awaitable[Any]], query: str, arguments: dict[str, Any]) -> Any:
        while True:
            asked = time.monotonic()
            if self.is_lost:
                await asyncio.Event().wait()
            try:
                answer = await ask(query, **arguments)
            except ConnectorException as error:
                if not isinstance(error.__cause__, psycopg.OperationalError):
                    raise
                await asyncio.sleep(_PAUSE)
                continue
            if query in _LIFE:
                self.seen = asked
            return answer


async def prepare(address: str, *, creates: bool = True) -> None:
    """Check that a queue can be used, and create its tables in a database that has none.

    Raises:
        HarvestError: it can't be reached, its tables are of another version, or its clock differs from that here.
    """
    try:
        async with await psycopg.AsyncConnection.connect(
            address, connect_timeout=10, autocommit=True, **UTF8
        ) as connection:
            await _check(connection, shown(address), creates=creates)
    except psycopg.OperationalError as error:
        raise HarvestError(unreachable(address, error)) from None
    except psycopg.Error as error:
        reason = str(error).strip().partition("\n")[0]
        raise HarvestError(f"The queue {shown(address)} can't be used: {reason}.") from None


def unreachable(address: str, error: BaseException | None) -> str:
    """Return a sentence about a queue that does not answer."""
    lines = [line for line in str(error or "").splitlines() if line.strip()]
    reason = lines[0].rpartition("failed: ")[2].removeprefix("FATAL:  ").strip() if lines else "no answer"
    advice = "check its address, and PGUSER and PGPASSWORD in the environment"
    return f"The queue {shown(address)} can't be reached ({reason}): {advice}."


async def _check(connection: psycopg.AsyncConnection[Any], shown: str, *, creates: bool) -> None:
    """Compare the clock and the tables.

    Raises:
        HarvestError: they differ.
    """
    cursor = await connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
    ahead = time.time() - (await cursor.fetchone() or [0.0])[0]
    if abs(ahead) > _SKEW:
        way = "ahead of" if ahead > 0 else "behind"
        clocks = f"The clock of this machine is {abs(ahead):.0f} seconds {way} that of the queue {shown}"
        raise HarvestError(f"{clocks}: set both by NTP.")
    await connection.execute("SELECT pg_advisory_lock(%s)", (_SCHEMA_LOCK,))
    found = {row[0] async for row in await connection.execute("SELECT proname FROM pg_proc WHERE proname ~ 'procrast'")}
    if not found and creates:
        await _create(connection)
    elif found and (missing := sorted({name for text in queries.values() for name in _FUNCTION.findall(text)} - found)):
        advice = "apply the migrations of Procrastinate, or name another database"
        raise HarvestError(
            f"The tables of the queue {shown} are of another version ({missing[0]} is missing): {advice}."
        )
    elif not found:
        raise HarvestError(f"The database {shown} has no queue: `scrapy worker --queue` or `harvest --queue` makes it.")


async def _create(connection: psycopg.AsyncConnection[Any]) -> None:
    from procrastinate.schema import SchemaManager  # noqa: PLC0415 -- once in the life of a queue

    async with connection.transaction():
        await connection.execute(SchemaManager.get_schema())
