"""A webhook: an address that takes a notice as JSON."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import TYPE_CHECKING, Self
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from crawlers.exceptions import ArgumentError
from crawlers.notify.channel import NotToldError, unreached
from crawlers.notify.private import is_private
from crawlers.notify.secret import secret, variable
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawlers.notify.notice import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """
    Args:
        address: often a secret.
        agent: the user agent.
        proxies: whether a proxy of the environment is used.
    """

    address: str = field(repr=False)
    agent: str
    proxies: bool = True

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self | None:
        """
        Raises:
            ArgumentError: the environment variable has no address that can be used.
        """
        address = secret(settings, "NOTIFY_WEBHOOK_ENV")
        if not address:
            return None
        _check(variable(settings, "NOTIFY_WEBHOOK_ENV"), address)
        agent = f"{settings['BOT_NAME']}/{settings['VERSION']}"
        return cls(address=address, agent=agent, proxies=settings.getbool("HTTPPROXY_ENABLED", True))

    @property
    def name(self) -> str:
        return f"the webhook at {urlsplit(self.address).hostname}"

    def tell(self, notice: Notice, timeout: float) -> None:
        """
        Raises:
            NotToldError: it can't be reached, or answered with anything but 2xx.
        """
        headers = {"Content-Type": "application/json", "User-Agent": self.agent}
        request = Request(self.address, strict_json.line(notice.fields()), headers, method="POST")  # noqa: S310  # checked
        try:
            with self._opener().open(request, timeout=timeout) as answer:
                _judge(answer.status)
        except HTTPException as error:
            raise NotToldError(f"it does not speak HTTP ({type(error).__name__})", again=True) from None
        except URLError as error:
            raise unreached(error.reason if isinstance(error.reason, OSError) else error) from None
        except OSError as error:
            raise unreached(error) from None
        except ValueError:  # a proxy's name, say, that is none
            raise NotToldError("its name can't be resolved") from None

    def _opener(self) -> OpenerDirector:
        """One that follows no redirect and takes an error status for an answer."""
        opener = OpenerDirector()
        https = HTTPSHandler(context=ssl.create_default_context())
        for handler in (ProxyHandler(None if self.proxies else {}), HTTPHandler(), https):
            opener.add_handler(handler)
        return opener


def _judge(status: int) -> None:
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise NotToldError(f"it redirects (HTTP {status}), which is not followed: give the address it leads to")
    raise NotToldError(f"it answered HTTP {status}", again=status == 429 or status >= 500)


def _check(name: str, address: str) -> None:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and " " not in address
        (parts.hostname or "").encode("idna")  # no part of it empty, or longer than 63
    except ValueError:
        usable = False
    if not usable or parts.username is not None or parts.password is not None:
        raise ArgumentError(f"The environment variable {name} has no http(s) address without user or password in it.")
    if parts.scheme == "http" and not is_private(parts.hostname or ""):
        raise ArgumentError(
            f"The environment variable {name} has an http address at {parts.hostname}, which is public: it takes https."
        )
