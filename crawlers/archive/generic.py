from crawlers.archive.spider import ArchiveSpider


class Archive(ArchiveSpider):
    """The files that the datasets of a source link, which -a of= names."""

    name = "archive"
