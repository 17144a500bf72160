"""Who may log in to the dashboard, and what each may do: users.toml, which has hashes of passwords."""

from __future__ import annotations

import base64
import getpass
import hashlib
import hmac
import json
import os
import re
import secrets
import sys
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import CrawlersError, hint
from crawlers.operate.dashboard.audit import Audit, Deed
from crawlers.safety import inside
from crawlers.safety.locks import alone
from crawlers.store.run_text import table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping
    from pathlib import Path

    from crawlers.operate.strict_command import ProjectCommand

ROLES = ("viewer", "operator", "admin")
"""What users may do, each all that the one before may."""
FILE = "users.toml"
PASSWORD = "password"  # noqa: S105 -- a name
"""The name of who logs in with the password of DASHBOARD_PASSWORD_ENV."""
SHORTEST = 8
"""Characters of a password, at least."""
LONGEST = 1000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_COST = (2**14, 8, 5)
"""Of scrypt: 16 MiB and a fifth of a second for a guess (https://cheatsheetseries.owasp.org, Password Storage)."""
_MEMORY = 64 * 1024 * 1024  # bytes that a hash may take
_LARGEST = 1024 * 1024  # bytes of the file


class UsersError(CrawlersError):
    """There is no such user, or users.toml can't be read or written."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may log in.

    Args:
        role: one of `ROLES`.
        hashed: of the password; empty if only a proxy says who it is.
    """

    name: str
    role: str
    hashed: str = ""

    def may(self, role: str) -> bool:
        """Return whether what takes a role is allowed.

        >>> User("ada", "operator").may("viewer"), User("ada", "operator").may("admin")
        (True, False)
        """
        return ROLES.index(self.role) >= ROLES.index(role)


def hash_of(password: str, salt: bytes | None = None, cost: tuple[int, int, int] = _COST) -> str:
    """Return the hash of a password, with its salt and what it cost."""
    salt = secrets.token_bytes(16) if salt is None else salt
    n, r, p = cost
    made = hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=salt, n=n, r=r, p=p, maxmem=_MEMORY)
    return ":".join(("scrypt", *map(str, cost), *(base64.b64encode(part).decode() for part in (salt, made))))


def is_hash_of(hashed: str, password: str) -> bool:
    """Return whether a hash is that of a password.

    >>> is_hash_of(hash_of("correct horse"), "correct horse"), is_hash_of("scrypt:1", "correct horse")
    (True, False)
    """
    try:
        _, n, r, p, salt, _ = hashed.split(":")
        made = hash_of(password, base64.b64decode(salt), (int(n), int(r), int(p)))
    except ValueError:  # it is no hash of ours
        return False
    return hmac.compare_digest(made.encode(), hashed.encode())


class Users:
    """The users of users.toml, and the admin who has the password of DASHBOARD_PASSWORD_ENV.

    Args:
        path: users.toml.
        password: of that admin; ``None``: there is none.
    """

    def __init__(self, path: Path, password: str | None = None) -> None:
        self.path = path
        self.own = {PASSWORD: User(PASSWORD, "admin", hash_of(password))} if password else {}
        self.nobody = hash_of(secrets.token_urlsafe())

    def read(self) -> dict[str, User]:
        """Return the users of the file by name; none if it does not exist.

        Raises:
            UsersError: it can't be read.
        """
        try:
            content = inside.read(self.path.parent.resolve(), self.path.name, _LARGEST).decode()
            return {name: self._user(name, entry) for name, entry in tomllib.loads(content).items()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise UsersError(f"{self.path} can't be read: {error.strerror}.") from None
        except (ValueError, RecursionError) as error:
            raise UsersError(f"{self.path} is not TOML: {str(error)[:200]}.") from None

    def _user(self, name: str, entry: Any) -> User:
        role, hashed = (entry.get(key, "") for key in ("role", "password")) if isinstance(entry, dict) else ("", "")
        if not is_name(name) or role not in ROLES or not isinstance(hashed, str):
            raise UsersError(f"{self.path}: [{name[:64]}] is no user: `scrapy users add NAME` writes one.")
        return User(name, role, hashed)

    def named(self, name: str) -> User | None:
        """Return a user; ``None`` if there is none of that name, or users.toml can't be read."""
        if name in self.own:
            return self.own[name]
        with suppress(UsersError):
            return self.read().get(name)
        return None

    def checked(self, name: str, password: str) -> User | None:
        """Return the user whose name and password these are; an unknown name takes as long as a wrong password.

        Raises:
            UsersError: users.toml can't be read.
        """
        found = self.own.get(name) or self.read().get(name)
        hashed = found.hashed if found and found.hashed else self.nobody
        return found if is_hash_of(hashed, password) else None

    def add(self, name: str, role: str, password: str | None) -> User:
        """Add a user.

        Args:
            password: ``None``: only a proxy says who it is.

        Raises:
            UsersError: there is one of that name, the password is too short, or users.toml can't be written.
        """
        if not is_name(name):
            raise UsersError(
                f"{name[:64]!r} can't be a user's name: it is 1 to 64 letters, digits or . _ - @, and not {PASSWORD!r}."
            )
        if role not in ROLES:
            raise UsersError(f"{role[:64]!r} is not a role: it is one of {', '.join(ROLES)}.{hint(role, ROLES)}")
        made = User(name, role, hash_of(checked_password(password)) if password is not None else "")

        def added(users: dict[str, User]) -> None:
            if name in users:
                raise UsersError(f"{name} is a user already: scrapy users remove {name}, then add it again.")
            users[name] = made

        self._change(added)
        return made

    def remove(self, name: str) -> None:
        """Remove a user, whose sessions end.

        Raises:
            UsersError: there is none of that name, or users.toml can't be written.
        """

        def removed(users: dict[str, User]) -> None:
            if name not in users:
                there = ", ".join(users) or "none"
                raise UsersError(f"There is no user {name[:64]!r}.{hint(name, users)} There are: {there}.")
            del users[name]

        self._change(removed)

    def _change(self, change: Callable[[dict[str, User]], None]) -> None:
        """Rewrite the file, which its owner alone may read."""
        import tomlkit  # noqa: PLC0415 -- what only reads the file needs it not

        target = self.path.resolve()
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with alone(target):
                change(users := self.read())
                keys = {user.name: {"role": user.role, "password": user.hashed} for user in users.values()}
                entries = {name: {key: value for key, value in entry.items() if value} for name, entry in keys.items()}
                with suppress(FileNotFoundError):
                    temporary.unlink()
                with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(tomlkit.dumps(entries).encode())
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(target)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise UsersError(f"{self.path} can't be written: {error.strerror}.") from None


def is_name(name: str) -> bool:
    """Return whether a user may have a name.

    >>> [is_name(name) for name in ("ada@example.org", "password", "a b", "")]
    [True, False, False, False]
    """
    return _NAME.fullmatch(name) is not None and name != PASSWORD


def checked_password(password: str) -> str:
    """Return a password.

    Raises:
        UsersError: it is too short, or too long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise UsersError(f"The password has {len(password)} characters: it takes {SHORTEST} to {LONGEST:,}.")
    return password


def take_password(variable: str, environment: MutableMapping[str, str]) -> str | None:
    """Return the password of DASHBOARD_PASSWORD_ENV, and remove it from the environment: no crawl inherits it.

    Args:
        variable: the name of the variable; empty: nobody logs in with it.
        environment: the process's.

    Raises:
        UsersError: the variable is not set, or its value is too short.

    >>> take_password("", {}), take_password("PASSWORD", {"PASSWORD": "correct horse"})
    (None, 'correct horse')
    """
    from crawlers.safety.redact import hide  # noqa: PLC0415

    if not variable:
        return None
    found = environment.pop(variable, "")
    if len(found) < SHORTEST:
        why = f"has less than {SHORTEST} characters" if found else "is empty or not set"
        raise UsersError(f"{variable}, which DASHBOARD_PASSWORD_ENV names, {why}: put the password there.")
    hide(found)
    return found


# The verbs of `scrapy users`


@dataclass(frozen=True, slots=True)
class Call:
    """What the user asks `scrapy users` for."""

    command: ProjectCommand
    names: list[str]
    opts: Any

    @property
    def listed(self) -> Path:
        return self.command.path("SOURCES_FILE")

    @property
    def users(self) -> Users:
        return Users(self.listed.parent / FILE)

    def recorded(self, action: str, name: str, given: Mapping[str, Any], act: Callable[[], str]) -> int:
        """Do something that audit.jsonl has, and print what was done."""
        deed = Deed(f"{_owner()} (terminal)", "admin", action, name, given)
        print(Audit.beside(self.listed).recorded(deed, act))
        return 0


def add(call: Call) -> int:
    """Add a user with a password from the terminal, or from standard input: never from the command line."""
    (name,), users = call.names, call.users
    password = None if call.opts.no_password else checked_password(_asked(name))

    def act() -> str:
        user = users.add(name, call.opts.role, password)
        how = "" if user.hashed else ", if a proxy of TRUSTED_PROXIES says so"
        return f"{name} is {_article(user.role)} now{how}, in {users.path}."

    return call.recorded("add user", name, {"role": call.opts.role}, act)


def remove(call: Call) -> int:
    """Remove a user."""
    (name,), users = call.names, call.users

    def act() -> str:
        users.remove(name)
        return f"{name} is removed from {users.path}; open sessions have ended."

    return call.recorded("remove user", name, {}, act)


def print_list(call: Call) -> int:
    """Print the users, without their hashes."""
    found = call.users.read().values()
    rows = [{"name": user.name, "role": user.role, "password": bool(user.hashed)} for user in found]
    if call.opts.json:
        print(json.dumps(rows, indent=2))
    elif rows:
        said = [(user.name, user.role, "password" if user.hashed else "proxy") for user in found]
        print("\n".join(table([("name", "role", "login"), *said], colours=False)))
    else:
        print(f"{call.users.path} has no user yet: scrapy users add NAME --role operator adds one.")
    return 0


def _article(role: str) -> str:
    return f"{'an' if role[0] in 'ao' else 'a'} {role}"


def _asked(name: str) -> str:
    """Return a password from the terminal, asked twice, or the first line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline(LONGEST + 2).rstrip("\r\n")
    first = getpass.getpass(f"Password of {name}: ")
    if getpass.getpass("Again: ") != first:
        raise UsersError("The two passwords differ: nothing was done.")
    return first


def _owner() -> str:
    """Return the name of the account that runs this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
