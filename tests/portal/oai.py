"""An OAI-PMH repository on the loopback; what real ones do wrong is a switch of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape, quoteattr

from tests.site import Answer, Site

if TYPE_CHECKING:
    from tests.site import Asked

ROOT = """<?xml version="1.0" encoding="UTF-8"?>
<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><responseDate>2026-11-01T00:00:00Z</responseDate>
<request>http://test/oai</request>{}</OAI-PMH>"""
DC = (
    '<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<dc:title>{title}</dc:title><dc:identifier>https://example.org/{name}</dc:identifier></oai_dc:dc>"
)
DATACITE = (
    '<resource xmlns="http://datacite.org/schema/kernel-4"><identifier identifierType="DOI">10.5072/{name}</identifier>'
    "<titles><title>{title}</title></titles><publisher>Amt</publisher></resource>"
)
DCAT = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcat="http://www.w3.org/ns/dcat#"
 xmlns:dct="http://purl.org/dc/terms/"><dcat:Dataset rdf:about="https://example.org/{name}"><dct:title>{title}</dct:title>
<dct:license rdf:resource="https://example.org/l">Licence ouverte</dct:license></dcat:Dataset></rdf:RDF>"""
FORMATS = {
    "oai_dc": DC,
    "oai_datacite": DATACITE,
    "datacite": DATACITE.replace(' xmlns="http://datacite.org/schema/kernel-4"', ""),  # as pycsw 3 gives it
    "dcat": DCAT,  # a property has an address and a text, as GeoNetwork gives it
    "marcxml": '<record xmlns="http://www.loc.gov/MARC21/slim"><leader>{title}</leader></record>',
}


@dataclass
class Held:
    """A record."""

    name: str
    stamp: datetime
    title: str = ""
    is_deleted: bool = False
    sets: tuple[str, ...] = ()


def held(count: int, *, start: str = "2020-01-01", hours: int = 24) -> list[Held]:
    """Return records, each some hours after the one before."""
    first = datetime.fromisoformat(start).replace(tzinfo=UTC)
    return [Held(f"r{n:05}", first + timedelta(hours=hours * n), f"Record {n}") for n in range(count)]


@dataclass
class Repository:
    """
    Args:
        records: what it has, in the order of its lists.
        traps: what it does wrong, by name.
        size: records on a page.
        formats: the prefixes that it lists.
        generation: tokens of another one are dead.
    """

    records: list[Held]
    traps: dict[str, Any] = field(default_factory=dict)
    size: int = 10
    formats: tuple[str, ...] = ("oai_dc",)
    daily: bool = False
    deleted_record: str = "persistent"
    earliest: str = "2019-12-31T00:00:00Z"
    served: int = 0
    generation: int = 0

    def __call__(self, asked: Asked) -> Answer:
        if not asked.path.startswith("/oai"):
            return Answer(b"", 404)
        if "html" in self.traps:
            return oops(200)
        given = {name: found[-1] for name, found in parse_qs(urlsplit(asked.path).query).items()}
        verb = given.pop("verb", "")
        answer = getattr(self, verb, None)
        return answer(given) if answer else self.error("badVerb")

    def Identify(self, _given: dict[str, str]) -> Answer:
        if trap := self.traps.get("identify"):
            return self.error("badVerb") if trap is True else oops(trap)
        granularity = "YYYY-MM-DD" if self.daily else "YYYY-MM-DDThh:mm:ssZ"
        return self.answered(
            f"<Identify><repositoryName>Test</repositoryName><earliestDatestamp>{self.earliest}</earliestDatestamp>"
            f"<deletedRecord>{self.deleted_record}</deletedRecord><granularity>{granularity}</granularity></Identify>"
        )

    def ListMetadataFormats(self, _given: dict[str, str]) -> Answer:
        if trap := self.traps.get("formats"):
            return oops(trap)
        names = [*self.formats, *self.traps.get("lies", ())]
        found = "".join(f"<metadataFormat><metadataPrefix>{name}</metadataPrefix></metadataFormat>" for name in names)
        return self.answered(f"<ListMetadataFormats>{found}</ListMetadataFormats>")

    def GetRecord(self, given: dict[str, str]) -> Answer:
        if "no_get" in self.traps:
            return self.error(self.traps["no_get"])
        if given["identifier"].removeprefix("oai:test:") in self.traps.get("says_nothing_of", ()):
            return Answer(b"Bad gateway", 502)
        found = [each for each in self.records if f"oai:test:{each.name}" == given["identifier"]]
        if not found:
            return self.error("idDoesNotExist")
        is_cured = "cured" in self.traps
        record = self.record(found[0], given["metadataPrefix"], is_alone=is_cured)
        return self.answered(f"<GetRecord>{record}</GetRecord>")

    def ListRecords(self, given: dict[str, str]) -> Answer:
        token = given.get("resumptionToken")
        self.served += 1
        if token and len(given) > 1 and "beside" not in self.traps:
            return self.error("badArgument", "resumptionToken is exclusive")
        if token and "beside" in self.traps and "metadataPrefix" not in given:
            return self.error("badArgument", "Missing metadataPrefix parameter")
        is_old = token is not None and token.rpartition("!")[2] != str(self.generation)
        token = token and token.rpartition("!")[0]
        if not token:
            token = "|".join(["0", *(given.get(name, "") for name in ("metadataPrefix", "set", "from", "until"))])
        elif is_old or self.served in self.traps.get("dead_at", ()):
            return self.error("badResumptionToken", "expired")
        start, prefix, chosen, begin, until = token.split("|")
        if prefix not in self.formats:
            return self.error("cannotDisseminateFormat")
        if self.daily and (len(begin) > 10 or len(until) > 10):
            return self.error("badArgument", "granularity")
        found = [each for each in self.records if self.is_in(each, chosen, begin, until)]
        found = [each for each in found if each.name not in self.traps.get("unlisted", ())]
        return self.page(found, int(start), [prefix, chosen, begin, until])

    def is_in(self, each: Held, chosen: str, begin: str, until: str) -> bool:
        stamp = self.stamp(each)
        if "ignores" in self.traps:
            begin = until = ""
        is_since = not begin or stamp[: len(begin)] >= begin
        is_until = not until or stamp[: len(until)] <= until
        return is_since and is_until and (not chosen or any(f"{name}:".startswith(f"{chosen}:") for name in each.sets))

    def page(self, found: list[Held], start: int, rest: list[str]) -> Answer:
        limit = self.traps.get("limit", len(found))  # the list ends there, whatever its size
        if "dies_behind" in self.traps and start >= self.traps["dies_behind"]:
            return self.error("badResumptionToken", "expired")
        if "breaks_behind" in self.traps and start >= self.traps["breaks_behind"]:
            return Answer(b"Bad gateway", 502)
        shown = found[start : min(start + self.size, limit)]
        if any(each.name in self.traps.get("breaks_at", ()) for each in shown):
            return oops(self.traps["breaks_with"])
        if not shown and start and (after := self.traps.get("extra_token")):
            return oops(after) if isinstance(after, int) else self.error(after)
        if not shown and (start == 0 or "full_end" in self.traps):
            return self.error("noRecordsMatch")
        following = start + self.size
        is_last = following >= min(len(found), limit) + (1 if "full_end" in self.traps else 0)
        is_endless = self.traps.keys() & {"never_ends", "extra_token"}
        token = "" if is_last and not is_endless else "|".join([str(following), *rest])
        if "repeats" in self.traps and start + self.size >= self.traps["repeats"]:
            token = "|".join([str(start), *rest])
        size = self.traps.get("says", len(found))
        size = f' completeListSize="{size}"' if size is not None else ""
        element = f"<resumptionToken{size}>{escape(token and f'{token}!{self.generation}')}</resumptionToken>"
        if not token and ("no_element" in self.traps or start == 0):
            element = ""
        records = "".join(self.record(each, rest[0]) for each in shown)
        place = self.cut(shown, start)
        until = None if place is None else f"oai:test:{shown[place].name}<"
        return self.answered(f"<ListRecords>{records}{element}</ListRecords>", until=until)

    def cut(self, shown: list[Held], start: int) -> int | None:
        """Return the place on a page of the record within which its answer breaks off; ``None`` if it is whole."""
        if start >= self.traps.get("cut_behind", start + 1):
            return len(shown) // 2
        return next((n for n, each in enumerate(shown) if each.name in self.traps.get("cut_in", ())), None)

    def record(self, each: Held, prefix: str, *, is_alone: bool = False) -> str:
        status = ' status="deleted"' if each.is_deleted else ""
        name = escape(f"oai:test:{each.name}")
        header = f"<identifier>{name}</identifier><datestamp>{self.stamp(each)}</datestamp>"
        if each.name in self.traps.get("nameless", ()):
            header = f"<datestamp>{self.stamp(each)}</datestamp>"
        sets = "".join(f"<setSpec>{name}</setSpec>" for name in each.sets)
        title = escape(each.title)
        if each.name in self.traps.get("bad_xml", ()) and not is_alone:
            title += "\x08 & <b> </i>"
        metadata = FORMATS[prefix].format(title=title, name=each.name)
        if each.name in self.traps.get("services", ()):
            metadata = metadata.replace("<dc:title>", "<dc:type>Service</dc:type><dc:title>")
        body = "" if each.is_deleted else f"<metadata>{metadata}</metadata>"
        return f"<record><header{status}>{header}{sets}</header>{body}</record>"

    def stamp(self, each: Held) -> str:
        if "undated" in self.traps:
            return ""
        return each.stamp.strftime("%Y-%m-%d" if self.daily else "%Y-%m-%dT%H:%M:%SZ")

    def error(self, code: str, text: str = "") -> Answer:
        return self.answered(f"<error code={quoteattr(code)}>{text}</error>", self.traps.get("error_status", 200))

    def answered(self, text: str, status: int = 200, *, until: str | None = None) -> Answer:
        headers = {"Content-Type": "text/xml; charset=utf-8"}
        body = ROOT.format(text)
        return Answer((body.partition(until)[0] if until else body).encode(), status, headers)


def oops(status: int) -> Answer:
    """Return a page for people, of no repository."""
    page = b"<!DOCTYPE html><html><body>Welcome</body></html>"
    return Answer(page, status, {"Content-Type": "text/html"})


def serve(repository: Repository) -> Site:
    """Return the repository as a site; its address is ``/oai``."""
    return Site(repository)
