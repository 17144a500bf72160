"""The forms before files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.http import Response


class FormRule:
    """A form before a file."""

    page: str | None = None

    def request(self, page: Response) -> tuple[str, str, bytes, str | None]:
        """Return the method, the address, the body and its content type."""
        raise NotImplementedError


class Forms:
    """The rules of FORMS_FILE."""

    @classmethod
    def read(cls, path: Path) -> Self:  # noqa: ARG003
        """Read the file."""
        return cls()

    def rule(self, url: str) -> FormRule | None:  # noqa: ARG002
        """Return the form before an address."""
        return None
