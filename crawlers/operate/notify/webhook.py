"""A webhook: an address that receives a notice as JSON."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import TYPE_CHECKING, Self
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from crawlers.exceptions import ArgumentError
from crawlers.operate.notify.channel import NotificationError, connection_error, is_private, secret
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawlers.operate.notify.notice import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """The channel that posts a notice to an address.

    Args:
        address: often a secret.
        agent: the user agent.
        proxies: whether to use a proxy of the environment.
    """

    address: str = field(repr=False)
    agent: str
    proxies: bool = True

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self | None:
        """Return the webhook; ``None`` if the environment variable is not set.

        Raises:
            ArgumentError: the environment variable has no usable address.
        """
        name, address = secret(settings, "NOTIFY_WEBHOOK_ENV")
        if not address:
            return None
        _check(name, address)
        agent = f"{settings['BOT_NAME']}/{settings['VERSION']}"
        return cls(address=address, agent=agent, proxies=settings.getbool("HTTPPROXY_ENABLED", True))

    @property
    def name(self) -> str:
        return f"the webhook at {urlsplit(self.address).hostname}"

    def send(self, notice: Notice, timeout: float) -> None:
        """Post a notice.

        Raises:
            NotificationError: the host is unreachable, or its status is not 2xx.
        """
        headers = {"Content-Type": "application/json", "User-Agent": self.agent}
        request = Request(self.address, strict_json.line(notice.fields()), headers, method="POST")  # noqa: S310  # checked
        try:
            with self._opener().open(request, timeout=timeout) as answer:
                _check_status(answer.status)
        except HTTPException as error:
            raise NotificationError(f"it does not speak HTTP ({type(error).__name__})", is_temporary=True) from None
        except URLError as error:
            raise connection_error(error.reason if isinstance(error.reason, OSError) else error) from None
        except OSError as error:
            raise connection_error(error) from None
        except ValueError:  # an invalid name of a proxy, for example
            raise NotificationError("its name can't be resolved") from None

    def _opener(self) -> OpenerDirector:
        """Return an opener that follows no redirect and raises nothing for an error status."""
        opener = OpenerDirector()
        https = HTTPSHandler(context=ssl.create_default_context())
        for handler in (ProxyHandler(None if self.proxies else {}), HTTPHandler(), https):
            opener.add_handler(handler)
        return opener


def _check_status(status: int) -> None:
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise NotificationError(f"it redirects (HTTP {status}), which is not followed: configure its target")
    raise NotificationError(f"it answered HTTP {status}", is_temporary=status == 429 or status >= 500)


def _check(name: str, address: str) -> None:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and " " not in address
        (parts.hostname or "").encode("idna")  # fails if a label is empty or longer than 63
    except ValueError:
        usable = False
    if not usable or parts.username is not None or parts.password is not None:
        raise ArgumentError(f"The environment variable {name} has no http(s) address without user and password.")
    if parts.scheme == "http" and not is_private(parts.hostname or ""):
        raise ArgumentError(
            f"The environment variable {name} has an http address at {parts.hostname}, which is public: use https."
        )
