"""The descriptions of datasets, some in one answer, which an endpoint may cut without a word."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.kinds.sparql import answers, queries
from crawlers.listing.batches import PATIENCE, Batch, Batches
from crawlers.listing.dialect import Fault
from crawlers.records.moment import now
from crawlers.records.rdf.terms import DCAT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.kinds.dcat.page import RDFPage
    from crawlers.kinds.sparql.queries import Endpoint
    from crawlers.listing.crawl import Crawl


_DISTRIBUTION = DCAT + "distribution"
_QUERIES = {"construct": queries.construct, "describe": queries.describe}
_PROBES = 2
"""Single datasets whose CONSTRUCT fails before all are asked for by DESCRIBE."""
_REFUSES = {"http", "not_rdf", "not_json", "refused"}
"""Failures that may mean that the endpoint does not answer such a query."""


class UncountedError(AnswerError):
    """An answer may have been cut: how many triples there are has to be asked.

    Args:
        size: how many it has.
    """

    def __init__(self, size: int) -> None:
        super().__init__("truncated", f"the answer has {size} triples, where endpoints cut answers")
        self.size = size


class CountedError(AnswerError):
    """An answer was whole, by the number of triples that there are: it has to be asked for again."""

    def __init__(self, count: int) -> None:
        super().__init__("truncated", f"there are {count} triples, and all came")
        self.count = count


class Descriptions(Batches):
    """Asks for the descriptions of datasets, judges whether an answer is whole, and makes items of it.

    A batch's ``way`` has the ``form`` of the query; ``least``, how many triples the answer must have by the endpoint's
    own count, or 0 if it does not count; ``size``, of an answer whose triples are to be counted.

    Attributes:
        size: datasets of a batch; smaller once the endpoint has cut an answer.
        form: the query that the endpoint answers.
        has_constructed: whether it has answered a CONSTRUCT.
        is_tried: whether single datasets are asked for, to see whether it answers a CONSTRUCT.
        refused: how many of them it has refused.
        row_limit: what is known of the number of triples at which answers are cut.
        is_counting: whether the endpoint counts the triples of a batch; ``None`` if it is not known.
        gaps: how many answers were whole although distributions lack in them.
        failed: how many datasets in a row failed on their own, and empty batches in a row.
    """

    def __init__(self, crawl: Crawl, endpoint: Endpoint, size: int) -> None:
        super().__init__(crawl)
        self.endpoint, self.size = endpoint, size
        self.form, self.has_constructed = "construct", False
        self.is_tried, self.refused = False, 0
        self.row_limit, self.gaps, self.failed = RowLimit(), 0, 0
        self.is_counting: bool | None = None

    def usual(self) -> dict[str, Any]:
        return {"form": self.form}

    def requests(self, iris: Sequence[str], method: str) -> Iterator[Request]:
        """Yield the requests for the descriptions of datasets."""
        for first in range(0, len(iris), self.size):
            given, is_post = tuple(iris[first : first + self.size]), method == "POST"
            batch = Batch(given=given, most=self.size, whole=self.size, is_post=is_post, takes_post=is_post)
            yield from self.ask_batch(batch)

    def batch_question(self, batch: Batch) -> Request:
        """Return the request for a batch: it precedes the next page, and what is asked again precedes other batches."""
        form, graph = batch.way["form"], self.endpoint.graph
        is_graph = "size" not in batch.way
        query = (_QUERIES[form] if is_graph else queries.count_statements)(batch.ids, graph)
        request = self.endpoint.request(query, "POST" if batch.is_post else "GET", is_graph=is_graph)
        request.meta["dont_cache"] = False
        if len(batch.ids) == 1:  # nothing helps behind it
            request.meta["max_retry_times"] = self.crawl.crawler.settings.getint("RETRY_TIMES")
        return request.replace(priority=2 if len(batch.way) > 1 or batch.sizes else 1)

    # Whether an answer is whole

    async def found(self, response: Response, batch: Batch) -> dict[str, RDFPage]:
        if "cached" in response.flags:
            self.crawl.run_state.has_stale_answer = True
        if "size" in batch.way:
            raise self.counted(batch.way["size"], answers.number(response))
        page = await self.page(response)
        self.has_constructed |= batch.way["form"] == "construct"
        try:
            self.check(batch, page)
        except AnswerError:
            page.close()
            raise
        described = {iri: page for iri in batch.ids if page.is_described(iri)}
        self.failed = 0 if described else self.failed + (len(batch.ids) > 1)
        if not described:
            self.told(page, response.request)
            page.close()
            raise _undescribed()
        return described

    async def page(self, response: Response) -> RDFPage:
        """Return the graph of an answer.

        Raises:
            AnswerError: it is something else than RDF, or only a part.
        """
        max_json = self.crawl.crawler.settings.getint("JSON_MAXSIZE")
        language = self.crawl.args["language"]
        return await answers.graph(response, name=self.crawl.source, language=language, max_json=max_json)

    def check(self, batch: Batch, page: RDFPage) -> None:
        """Check that an answer is whole. One with faults is kept: the faults are errors.

        Raises:
            UncountedError: its triples must be counted.
            AnswerError: it was cut.
        """
        size, least = page.reader.count, batch.way.get("least")
        has_faults = not all(fault.is_repaired for fault in page.faults)
        if least or has_faults:
            if size < (least or 0) and not has_faults:
                raise _cut(size, f"the {least} that there are")
            return
        has_gap = self.gaps < PATIENCE and self.has_gap(batch, page)
        if batch.way["form"] == "describe" or self.is_counting is False or least == 0:
            if size in self.row_limit.cuts or (least != 0 and self.row_limit.may_cut_uncounted(size)):
                raise _cut(size, "all: the endpoint may have cut it")
            if has_gap and len(batch.ids) > 1:
                raise AnswerError("undescribed", "the answer names distributions or datasets that it does not describe")
            self.gaps += has_gap
            return
        may_cut = self.row_limit.may_cut(size)
        if size in self.row_limit.cuts and len(batch.ids) > 1:
            raise _cut(size, "all: the endpoint cuts its answers there")
        if may_cut or has_gap:
            raise UncountedError(size)

    def has_gap(self, batch: Batch, page: RDFPage) -> bool:
        """Return whether an answer describes some datasets and lacks others, or lacks distributions that it names."""
        described = [page.is_described(iri) for iri in batch.ids]
        if not all(described):
            return any(described)
        parts = (part for iri in batch.ids for part in page.catalogue.nodes.node(iri).get(_DISTRIBUTION, ()))
        return not all(page.is_described(part) for part in parts if isinstance(part, str))

    def counted(self, size: int, count: int) -> AnswerError:
        """Return what the number of triples says of the answer with `size` of them."""
        self.is_counting = True
        self.row_limit.counted(size, count)
        if size < count:
            return _cut(size, f"the {count} that there are")
        self.gaps += size < LOWEST or size < self.row_limit.largest
        return CountedError(count)

    # What it has

    def take(self, response: Response, records: dict[str, RDFPage], batch: Batch) -> Iterator[Dataset]:
        with closing(next(iter(records.values()))) as page:
            for iri in records:
                yield from self.crawl.guarded(self.item(page, iri, response.request), response, {"id": iri})
            self.told(page, response.request)

    def item(self, page: RDFPage, iri: str, request: Request | None) -> Iterator[Dataset]:
        try:
            dataset = page.record(iri).item()
        except AnswerError as error:
            self.crawl.failed("parse", error, request, dataset_id=iri, missing="dataset")
            return
        dataset.metadata_source, dataset.metadata_url, dataset.retrieved = page.source, self.endpoint.url, now()
        yield dataset

    def told(self, page: RDFPage, request: Request | None) -> None:
        """Report what could not be read of an answer."""
        for sentence in page.misread:
            self.crawl.failed("parse", AnswerError("repaired_text", sentence), request)
        for fault in page.faults:
            kind = "unreadable_statement" if page.costs_a_statement(fault) else "invalid_rdf"
            self.crawl.failed("parse", AnswerError(kind, fault.message), request, dataset_id=page.owner(fault))

    # What it lacks

    def fault(self, error: AnswerError, response: Response | None) -> Fault:
        status = None if response is None else response.status
        return Fault(error, status, is_first=True, is_of_page=True)  # fewer may help, whatever the endpoint says

    def instead(self, batch: Batch, fault: Fault) -> Batch | None:
        """Return the number of triples, or another form of the query; else fewer datasets."""
        error, form = fault.error, batch.way["form"]
        if isinstance(error, UncountedError):
            return replace(batch, way={"form": form, "size": error.size})
        if isinstance(error, CountedError):
            return replace(batch, way={"form": form, "least": error.count})
        if "size" in batch.way and not self.is_counting:
            self.is_counting = False
            self.crawl.logger.warning("The endpoint does not count what it describes: %s", error)
            return replace(batch, way={"form": form, "least": 0})
        if self.failed >= PATIENCE and len(batch.ids) > 1:
            return None
        if form == "construct" and self.may_describe(batch, fault):
            return self.otherwise(batch)
        if error.kind == "truncated" and len(batch.ids) > 1:
            self.size = min(self.size, (len(batch.ids) + 1) // 2)
        return super().instead(batch, fault)

    def otherwise(self, batch: Batch) -> Batch:
        """Return a batch in the other form; of the first that is refused, two datasets are asked for alone before that.

        One of a batch may break it. If both are refused, the endpoint answers no CONSTRUCT.
        """
        count = len(batch.ids)
        if count > 1 and not self.is_tried:
            self.is_tried, alone = True, (1,) * _PROBES
            return replace(batch, way={}, ids=(), sizes=(*alone, *filter(None, (count - _PROBES,)), *batch.sizes[1:]))
        self.refused += count == 1 and not self.has_constructed
        if self.refused >= _PROBES:
            self.form = "describe"
        return replace(batch, way={"form": "describe"})

    def may_describe(self, batch: Batch, fault: Fault) -> bool:
        """Return whether DESCRIBE may be answered: CONSTRUCT never was, or fails for a single dataset."""
        kind, status = fault.error.kind, fault.status
        if self.has_constructed:
            return len(batch.ids) == 1 and kind in (*_REFUSES, "truncated")
        return kind in _REFUSES and (status is None or status < 500 or status == 501)

    def give_up(self, ids: list[str], batch: Batch, fault: Fault | None, request: Request | None) -> Iterator[Any]:
        """Yield the request for what an answer with others lacks, which may have been cut; else report it."""
        if fault is None:
            half = (len(ids) + 1) // 2
            sizes = (half, len(ids) - half) if len(ids) > 1 else (1,)
            yield from self.ask_batch(replace(batch, given=tuple(ids), way={}, ids=(), sizes=sizes))
            return
        self.failed += len(ids) == 1
        for iri in ids:
            about = {"dataset_id": iri, "missing": "dataset"}
            self.crawl.failed("fetch", fault.error, request, http_status=fault.status, **about)

    def closed(self, batch: Batch, fault: Fault, request: Request | None) -> Iterator[Any]:
        return self.give_up([*batch.given], batch, fault, request)


def _cut(size: int, wanted: str) -> AnswerError:
    return AnswerError("truncated", f"the answer has {size} triples, not {wanted}")


def _undescribed() -> AnswerError:
    return AnswerError("undescribed", "the endpoint lists the dataset, and its answer does not describe it")


COMMON = frozenset((1_000, 10_000, 50_000, 100_000, 1 << 20))
"""Where endpoints cut their answers: Virtuoso's ResultSetMaxRows is one of these as a rule."""
LOWEST = 250
"""Triples; no endpoint is known that cuts an answer of fewer."""
_PROOFS = 2


class RowLimit:
    """Learns from each answer what the limit can be.

    An endpoint that gave an answer of some size has no lower limit, so a smaller answer is not cut. One that is as
    large as the largest so far, or larger, may be.

    Attributes:
        cuts: the sizes at which answers are cut.
        largest: the size of the largest answer so far.
        proofs: how many answers of the largest size were counted and found whole.
    """

    def __init__(self) -> None:
        self.cuts = {*COMMON}
        self.largest = 0
        self.proofs = 0

    def may_cut(self, size: int) -> bool:
        """Return whether an answer of that size may have been cut; note its size."""
        was_largest = self.largest
        self._note(size)
        if size in self.cuts:
            return True
        return size >= max(LOWEST, was_largest) and self.proofs < _PROOFS

    def may_cut_uncounted(self, size: int) -> bool:
        """Return the same for an endpoint that does not count: an answer is cut at a size that is often met."""
        is_met_again = size >= LOWEST and size == self.largest
        self._note(size)
        if is_met_again:
            self.cuts.add(size)
        return size in self.cuts

    def counted(self, size: int, count: int) -> None:
        """Note how many triples an answer of some size should have had."""
        if size < count:
            self.cuts.add(size)
        elif size == self.largest:
            self.proofs += 1

    def _note(self, size: int) -> None:
        if size > self.largest:
            self.largest, self.proofs = size, 0
