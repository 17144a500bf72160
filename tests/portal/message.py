"""What is asked of the portal and what it answers."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

JSON = "application/json;charset=utf-8"
HTML = "text/html; charset=utf-8"


class BadBodyError(ValueError):
    """A POST whose body is not a JSON object."""


@dataclass
class Request:
    method: str
    address: str  # as it was asked for: prefix, locale and query
    path: str  # below the prefix and the locale
    query: str = ""
    body: bytes = b""
    user_agent: str = ""
    host: str = ""
    token: str = ""
    write_number: int = 0  # among the writes since a fault was switched; 0 for a read

    @cached_property
    def key(self) -> str:
        """What makes two requests the same one."""
        return f"{self.method} {self.address} {self.body!r}"

    @cached_property
    def parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in parse_qsl(self.query, keep_blank_values=True):
            found[name] = [*_as_list(found[name]), value] if name in found else value
        return found | (self._posted() if self.method == "POST" else {})

    def _posted(self) -> dict[str, Any]:
        try:
            posted = json.loads(self.body)
        except ValueError as error:
            raise BadBodyError(str(error)) from error
        if not isinstance(posted, dict):
            raise BadBodyError("not a JSON object")
        return posted

    def text(self, name: str) -> str:
        """A parameter as one string; several values are joined by spaces, as CKAN joins fq and fq_list."""
        value = self.parameters.get(name)
        return "" if value is None else " ".join(map(str, _as_list(value)))


@dataclass
class Answer:
    status: int
    body: bytes = b""
    content_type: str = HTML
    headers: dict[str, str] = field(default_factory=dict)
    rows: int = 0  # how many records a listing was asked for, after the cap
    sent: int | None = None  # how much of the body goes out before the connection is closed
    silent: bool = False  # not even a status line

    def encoded(self) -> bytes:
        if self.silent:
            return b""
        lines = {
            "Server": "portal",
            "Content-Type": self.content_type,
            "Content-Length": len(self.body),
            **self.headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        start = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n{head}\r\n"
        return start.encode("latin-1") + self.body[: self.sent]

    @property
    def closes(self) -> bool:
        return self.silent or self.sent is not None


def json_answer(content: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(content).encode(), JSON)


def page(status: int, words: str = "") -> Answer:
    phrase = HTTPStatus(status).phrase
    body = (
        f"<!DOCTYPE html>\n<html><head><title>{phrase}</title></head><body><h1>{words or phrase}</h1></body></html>\n"
    )
    return Answer(status, body.encode())


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
