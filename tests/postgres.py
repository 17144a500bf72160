"""A real PostgreSQL on the loopback, which a test can restart, stop and let go on."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import pytest

from tests.needed import need
from tests.ports import free_port

USER, PASSWORD = "nodes", "not-a-secret"


class Postgres:
    """A database server with one user, that keeps its files in a folder until the process ends.

    Attributes:
        environment: what a client of it has in its environment.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = free_port()
        self.kept = socket.socket()
        self.environment = {"PGUSER": USER, "PGPASSWORD": PASSWORD}

    def __enter__(self) -> Self:
        _programs()
        if os.geteuid() == 0:  # which PostgreSQL refuses
            self.folder.chmod(0o711)
            shutil.chown(self.folder, "postgres")
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run("initdb", "-D", self.data, "-U", USER, "-A", "scram-sha-256", f"--pwfile={secret}", "-N")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.kept.close()

    def start(self) -> None:
        self.kept.close()
        options = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -F -c max_connections=200"
        self._run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "-t", "120", "-o", options, "start")

    def stop(self) -> None:
        """Stop it; nobody else gets its port meanwhile: its clients try that again and again."""
        self._run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "-t", "120", "stop")
        self.kept = socket.socket()
        self.kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.kept.bind(("127.0.0.1", self.port))

    def database(self, name: str) -> str:
        """Create a database; return its address."""
        self.sql(f"CREATE DATABASE {name}")
        return f"postgresql://127.0.0.1:{self.port}/{name}"

    def sql(self, statement: str, database: str = "postgres") -> str:
        where = ("-h", "127.0.0.1", "-p", str(self.port), "-d", database)
        return self._run("psql", *where, "-XAtq", "-c", statement).strip()

    def _run(self, program: str, *words: object) -> str:
        command = [str(_programs() / program), *map(str, words)]
        user = "postgres" if os.geteuid() == 0 else None
        done = subprocess.run(
            command,
            env=os.environ | self.environment | {"LC_ALL": "C"},
            cwd=self.folder,
            user=user,
            group=user and pwd.getpwnam(user).pw_gid,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program == "psql" else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if program == "pg_ctl" else subprocess.PIPE,
            text=True,
            check=False,
        )
        assert not done.returncode, f"{program}: {done.stderr}"
        return done.stdout or ""


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = str(found[-1]) if found else shutil.which("initdb")
    need("initdb", found=bool(initdb))
    assert initdb
    return Path(initdb).parent


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Start one server for all tests of a process; its own user must reach its folder, unlike those of pytest."""
    with TemporaryDirectory() as folder, Postgres(Path(folder)) as server:
        yield server
