"""The composition root: every setting of the project by section, "# default N; reason" beside it.

``-s NAME=VALUE`` overrides any of them; docs/settings.md explains them.
"""

from __future__ import annotations

import os
import sys
from dataclasses import fields
from pathlib import Path

from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.extensions.closespider import CloseSpider
from scrapy.extensions.corestats import CoreStats
from scrapy.extensions.logcount import LogCount
from scrapy.extensions.memdebug import MemoryDebugger
from scrapy.extensions.memusage import MemoryUsage

from crawlers.extensions.feeds import DatasetFeeds, FeedExporter
from crawlers.extensions.heartbeat import Heartbeat
from crawlers.extensions.lean_log import LeanLogFormatter
from crawlers.extensions.progress import Progress
from crawlers.extensions.report import Report
from crawlers.extensions.spider_middlewares import DeclaredEncoding, DefaultErrback
from crawlers.httpcache import AcceptFingerprinter, HttpCache, Policy, SqliteStorage
from crawlers.items import Dataset
from crawlers.kind import registered
from crawlers.operate.notify import Notify
from crawlers.politeness.addon import Politeness
from crawlers.politeness.blocked import Blocked
from crawlers.politeness.offsite import Offsite
from crawlers.politeness.pace import Pace
from crawlers.politeness.retry import BackoffRetry
from crawlers.politeness.robots import Robots
from crawlers.resume import LedgerScheduler
from crawlers.safety.logs import RedactedLogs
from crawlers.safety.resolver import PublicOnly, PublicOnlyResolver
from crawlers.safety.tokens import ApiToken, EchoedToken
from crawlers.spider_loader import SpiderLoader
from crawlers.spool import SpoolingHandler
from crawlers.spool.compression import BoundedCompression
from crawlers.store.index import Index, SkipUnchanged
from pipelines import Documents, Manifest, Validate

_HOME = Path(os.environ.get("CRAWLERS_HOME", ""))  # what relative paths below are relative to; by default where you are

# Identity
BOT_NAME = "catalogue-crawlers"
VERSION = "0.2.0"
CONTACT = ""  # a mail address or a page; goes into the user agent, so that a portal's operator can reach you
SPIDER_MODULES = ["spiders"]
NEWSPIDER_MODULE = "spiders"
SPIDER_LOADER_CLASS = SpiderLoader  # default Scrapy's own, which stops every command at one broken file
# Scrapy imports all commands to find one; a crawl, which harvests start by the hundred, is spared the others
_CRAWL = Path(sys.argv[0]).stem in ("scrapy", "__main__", "runner") and sys.argv[1:2] == ["crawl"]
COMMANDS_MODULE = "crawlers.operate.commands.crawl" if _CRAWL else "crawlers.operate.commands"
KINDS_ENABLED = ["*"]  # the kinds of catalogue that there are, by pattern: ["ckan", "dcat*"]

# Output
OUTPUT_DIR = str(_HOME / "output")
FILENAME_SLUG = True  # False: ids only
FILENAME_SLUG_MAXLEN = 80
FEED_EXPORT_ENCODING = "utf-8"  # default None, which escapes JSON to ASCII
FEED_EXPORT_FIELDS = [one.name for one in fields(Dataset) if one.name not in ("document", "stored", "flaws", "torn")]

# Harvests
SOURCES_FILE = str(_HOME / "sources.toml")
JOBS_DIR = str(_HOME / "jobs")  # a JOBDIR for each source that `scrapy harvest` runs
LOGS_DIR = str(_HOME / "logs")
HEARTBEAT_INTERVAL = 10.0  # seconds; a run on another machine that is silent for six of them is taken for dead
RUNS_KEPT_DAYS = 365  # days that run reports are kept; the last complete ones always are; 0 = for ever
LOGS_KEPT_DAYS = 90  # days; 0 = for ever
SCRAPYD_NODES: list[str] = []  # where `scrapy harvest` runs sources, instead of here: "http://node1:6800"
SCRAPYD_LOGIN_ENV = "SCRAPYD_LOGIN"  # the environment variable that has Scrapyd's "user:password"

# Notifications
NOTIFY_VERDICTS = ["incomplete", "blocked", "failed", "interrupted"]  # verdicts that send a notification
NOTIFY_WEBHOOK_ENV = "NOTIFY_WEBHOOK"  # the environment variable that has the address: it is often a secret
NOTIFY_MAIL_TO: list[str] = []
NOTIFY_MAIL_FROM = ""
NOTIFY_SMTP = "localhost:25"  # host:port; smtps://host:465 or starttls://host:587 where it must be encrypted
NOTIFY_SMTP_LOGIN_ENV = "NOTIFY_SMTP_LOGIN"  # the environment variable that has "user:password"
NOTIFY_TIMEOUT = 30.0  # seconds that the end of a crawl waits for notifications to be delivered; 45 at most
PROMETHEUS_FILE = ""  # a text file for node_exporter's textfile collector: catalogues.prom

# What changed, and what is gone
FULL_LISTING_DAYS = 7.0  # a crawl with since=last lists everything when that was not done for so long; 0 = never
SHRINK_LIMIT = 0.02  # the part of a catalogue that may be gone at once; beyond it nothing is withdrawn

# Politeness
REQUESTS_PER_SECOND = 2.0  # a host; 0 = no limit. AutoThrottle goes slower when the portal does, never faster
AUTOTHROTTLE_TARGET_CONCURRENCY = 2.0  # default 1.0; at 1.0 a portal that takes a second gets one request a second
DOWNLOAD_DELAY_JITTER = 0  # default 0.5; the rate above is a promise
ROBOTSTXT_OBEY = True  # default False; an unavailable robots.txt disallows everything that is not exempt
ROBOTS_EXEMPT = [pattern for one in registered().values() for pattern in one.robots_exempt]  # APIs that kinds ask
ROBOTS_EXEMPT_HOSTS: list[str] = []  # hosts with exempt paths, besides the portal that the user named
CRAWL_DELAY_MAX = 1.0  # seconds; CKAN's stock robots.txt says 10, which for 300,000 exports is 35 days; 0 = ignore it
RETRY_TIMES = 5  # default 2; catalogues fail for minutes at a time
RETRY_BACKOFF = 1.0  # seconds before the first retry, doubled each time
RETRY_BACKOFF_MAX = 60.0  # seconds
RETRY_AFTER_MAX = 3600.0  # seconds; a portal that asks for more is taken to refuse
BLOCKED_AFTER = 3  # bot checks or 403s in a row until a host gets no more requests; 0 = never
DOWNLOAD_TIMEOUT = 60  # default 180; a page of 1,000 datasets takes a healthy portal a few seconds

# Safety
DOWNLOAD_VERIFY_CERTIFICATES = True  # default False
DOWNLOAD_TLS_MIN_VERSION = "TLSv1.2"  # default None
DOWNLOAD_MAXSIZE = 64 * 1024 * 1024  # default 1 GiB; in memory, times the requests in flight
DOWNLOAD_WARNSIZE = 32 * 1024 * 1024
SPOOL_ABOVE = 32 * 1024 * 1024  # what is larger, of what may be spooled, goes into a temporary file while it comes
SPOOL_MAXSIZE = 2 * 1024 * 1024 * 1024  # of that, sent or unpacked; 0 = no limit
SPOOL_DIR: str | None = None  # where temporary files go; by default TMPDIR, else /tmp, which may be memory
DOCUMENT_MAXSIZE = 64 * 1024 * 1024  # bytes of a document; what is larger is not written; 0 = no limit
LINKED_DATASETS_MAX = 10_000  # datasets that a catalogue only links to, and that are asked for one by one
JSON_MAXSIZE = 100 * 1024 * 1024  # of JSON-LD and data.json, which are read as a whole: ten times that in memory
DOWNLOAD_HANDLERS = {
    **dict.fromkeys(("file", "data", "ftp", "s3")),  # a portal may not name local files
    **dict.fromkeys(("http", "https"), SpoolingHandler),  # default Scrapy's own, which holds all of an answer in memory
}
COOKIES_ENABLED = False  # default True; metadata needs no session
REFERRER_POLICY = "no-referrer"  # default scrapy-default; a portal need not know what was asked before
REFERER_ENABLED = False  # default True, which looks at every answer and request, and adds nothing
METAREFRESH_ENABLED = False  # default True; an API does not redirect so
REDIRECT_MAX_TIMES = 10  # default 20
HTTPPROXY_ENABLED = True  # default True; portals are often behind a proxy
TWISTED_DNS_RESOLVER = PublicOnlyResolver  # default CachingThreadedResolver, which lets a portal name any address
ALLOWED_PRIVATE_HOSTS: list[str] = []  # besides the portal: "intranet.example.org", "10.0.0.7:8080"
API_TOKEN_ENV = "CKAN_API_TOKEN"  # noqa: S105 -- the environment variable that has the token, for the portal only
URLLENGTH_LIMIT = 0  # default 2083, beyond which requests are dropped without a word
MEMUSAGE_LIMIT_MB = 2048  # default 0, no limit

# Browser, for HTML catalogues whose rules ask for one
BROWSER_EXECUTABLE: str | None = None  # the Chromium to use; by default Playwright's own, else the system's
BROWSER_SANDBOX = True  # False where the machine can't have one; as root there is none anyway

# HTTP cache: off by default (HTTPCACHE_ENABLED)
HTTPCACHE_POLICY = Policy  # default DummyPolicy, which keeps everything for ever, errors and robot checks too
HTTPCACHE_STORAGE = SqliteStorage  # default FilesystemCacheStorage, seven files an answer, pickles among them
REQUEST_FINGERPRINTER_CLASS = AcceptFingerprinter  # default RequestFingerprinter, to which Turtle and HTML are one

# Speed
CONCURRENT_ITEMS = 2  # default 100, a task each for every answer; these pipelines never wait
WARN_ON_GENERATOR_RETURN_VALUE = False  # default True, which parses the callback's source for most answers

# Logging
LOG_FORMATTER = LeanLogFormatter  # default LogFormatter, which builds a line for each item, though none is shown
LOG_LEVEL = "INFO"  # default DEBUG, which prints every item
LOG_VERSIONS: list[str] = []  # default: ten libraries' versions; the run report has what matters
LOGSTATS_INTERVAL = 60.0  # seconds between progress lines if the output is not a terminal

# Components
ADDONS = {Politeness: 100, DatasetFeeds: 200}
SCHEDULER = LedgerScheduler  # default Scrapy's own, whose JOBDIR does not survive kill -9
EXTENSIONS_BASE: dict[type, int] = {}  # default Scrapy's eleven; two of them run code for anyone who connects
EXTENSIONS = {
    **dict.fromkeys((CoreStats, LogCount, MemoryUsage, MemoryDebugger, CloseSpider), 0),  # of those
    FeedExporter: 1,  # before Notify: a feed that can't be stored leaves no folder
    Notify: 5,  # before Report: a mistake in its settings leaves no folder
    Report: 10,  # first: it opens the job and locks the source's folder, and may refuse to start
    Heartbeat: 15,
    Index: 20,
    RedactedLogs: 30,
    Progress: 40,
    Pace: 50,
}
SPIDER_MIDDLEWARES = {SkipUnchanged: 100, DefaultErrback: 200, DeclaredEncoding: 300}
DOWNLOADER_MIDDLEWARES = {
    OffsiteMiddleware: None,
    Offsite: 50,
    RobotsTxtMiddleware: None,
    Robots: 100,
    RetryMiddleware: None,
    BackoffRetry: 550,
    Blocked: 570,  # sees an answer before BackoffRetry does, and unpacked
    PublicOnly: 800,  # behind HttpProxyMiddleware
    ApiToken: 810,  # behind all that might copy, store or log a request's headers
    HttpCacheMiddleware: None,
    HttpCache: 900,
    EchoedToken: 905,  # before the cache stores an answer, and behind what unpacks it
    HttpCompressionMiddleware: None,
    BoundedCompression: 910,  # default 590; the cache reads bodies, to tell a robot check from an answer
    DownloaderStats: 920,  # default 850; below the cache, whose answers are no requests
}
ITEM_PIPELINES = {Validate: 100, Documents: 300, Manifest: 400}
