"""The composition root: every setting of the project by section, "# default N; reason" beside it.

``-s NAME=VALUE`` overrides any of them; docs/settings.md explains them. Components are named, not imported: every
command reads this file, and few commands need them.
"""

from __future__ import annotations

import os
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path

from crawlers.items import Dataset
from crawlers.kind import registered

_HOME = Path(os.environ.get("CRAWLERS_HOME", ""))  # what relative paths below are relative to; by default where you are

# Identity
BOT_NAME = "catalogue-crawlers"
VERSION = "0.4.0.dev0"
CONTACT = ""  # a mail address or a page; goes into the user agent, so that a portal's operator can reach you
SPIDER_MODULES = ["spiders"] if find_spec("spiders") else []  # the folder's; generic spiders are always there
NEWSPIDER_MODULE = "spiders"
SPIDER_LOADER_CLASS = "crawlers.spider_loader.SpiderLoader"  # default Scrapy's own, which one broken file stops
COMMANDS_MODULE = "crawlers.operate.commands"
KINDS_ENABLED = ["*"]  # the kinds of catalogue that there are, by pattern: ["ckan", "dcat*"]

# Output
OUTPUT_DIR = str(_HOME / "output")  # a folder, or s3://bucket/prefix or file:///folder, which machines may share
OUTPUT_MIRROR = str(_HOME / "mirror")  # where this machine keeps a copy of an OUTPUT_DIR that is shared
OUTPUT_STORE = ""  # the address of a shared OUTPUT_DIR, which is set from there: OUTPUT_DIR is the mirror then
OUTPUT_STORE_INTERVAL = 30.0  # seconds of a crawl that are lost at most if its machine dies; 1,000 documents, too
OUTPUT_STORE_PATIENCE = 600.0  # seconds without an answer of the store after which a crawl stops
OUTPUT_LEASE = 60.0  # seconds without a sign of life after which other machines may crawl a source
VERIFY_DOCUMENTS = False  # True: a crawl compares each document on disk by its SHA-256, and writes again what differs
VERSIONS = True  # False: the former bytes of documents are not kept
VERSIONS_KEEP_DAYS = 0  # days that they are kept; 0 = for ever
FILENAME_SLUG = True  # False: ids only
FILENAME_SLUG_MAXLEN = 80
FEED_EXPORT_ENCODING = "utf-8"  # default None, which escapes JSON to ASCII
FEED_EXPORT_FIELDS = [one.name for one in fields(Dataset) if one.name not in ("document", "stored", "flaws", "torn")]

# Harvests
SOURCES_FILE = str(_HOME / "sources.toml")
REVIEW = False  # True: what is added waits for `scrapy sources approve NAME`
JOBS_DIR = str(_HOME / "jobs")  # a JOBDIR for each source that `scrapy harvest` runs
HOST_TURNS = True  # False: other crawls of this machine may ask the same host at the same time
LOGS_DIR = str(_HOME / "logs")
HEARTBEAT_INTERVAL = 10.0  # seconds; a run on another machine that is silent for six of them is taken for dead
RUNS_KEPT_DAYS = 365  # days that run reports are kept; the last complete ones always are; 0 = for ever
LOGS_KEPT_DAYS = 90  # days; 0 = for ever
SCRAPYD_NODES: list[str] = []  # where `scrapy harvest` runs sources, instead of here: "http://node1:6800"
QUEUE = ""  # PostgreSQL, of workers and hosts: "postgresql://host/database"; user and password by PGUSER, PGPASSWORD
QUEUE_PATIENCE = 60.0  # seconds without a sign of life after which a node's crawls are given to others
FORK_SERVER = True  # crawls are forked from a process with Scrapy in it; False: each is a new Python process
SCRAPYD_LOGIN_ENV = "SCRAPYD_LOGIN"  # the environment variable that has Scrapyd's "user:password"

# The dashboard
DASHBOARD_URL = ""  # where others reach it: "https://catalogues.example.org"; digests, feeds and lists link there
DASHBOARD_PASSWORD_ENV = ""  # the environment variable that has the password of an admin; `scrapy users` adds others
TRUSTED_PROXIES: list[str] = []  # addresses of proxies that say who a user is: "127.0.0.1"
DASHBOARD_USER_HEADER = "X-Forwarded-User"  # in which they say it

# Notifications
NOTIFY_VERDICTS = ["incomplete", "blocked", "failed", "interrupted"]  # verdicts that send a notification
NOTIFY_FLAWS = False  # True: also once for flaws that are new
NOTIFY_WEBHOOK_ENV = "NOTIFY_WEBHOOK"  # the environment variable that has the address: it is often a secret
NOTIFY_MAIL_TO: list[str] = []
NOTIFY_MAIL_FROM = ""
NOTIFY_SOURCE_CONTACT = False  # whether a source's contact gets the mail of its failures, too
SOURCE_CONTACT = ""  # the source's contact in sources.toml; set by `scrapy harvest`
NOTIFY_SMTP = "localhost:25"  # host:port; smtps://host:465 or starttls://host:587 where it must be encrypted
NOTIFY_SMTP_LOGIN_ENV = "NOTIFY_SMTP_LOGIN"  # the environment variable that has "user:password"
NOTIFY_TIMEOUT = 30.0  # seconds that the end of a crawl waits for notifications to be delivered; 45 at most
DIGEST = ""  # "daily" or "weekly": `scrapy harvest --due` sends what changed; empty: it does not
PROMETHEUS_FILE = ""  # a text file for node_exporter's textfile collector: catalogues.prom

# What changed, and what is gone
FULL_LISTING_DAYS = 7.0  # a crawl with since=last lists everything when that was not done for so long; 0 = never
KEEP_COUNTERS = False  # True: a record is also written again if only its counters moved: views, downloads
SHRINK_LIMIT = 0.02  # the part of a catalogue that may be gone at once; what is beyond it needs more proof
CONFIRM_MAX = 1000  # if more than that part is gone, the portal is asked for as many, one by one
ACCEPT_SHRINK = ""  # the run whose refused list of withdrawals is accepted, once

# The CKAN ecosystem (scrapy crawl ckan_extensions)
GITHUB_API = "https://api.github.com"  # that of GitHub Enterprise Server: https://github.example.org/api/v3
GITHUB_HOST = "github.com"  # whose addresses are repositories of that API
GITHUB_TOKEN_ENV = "GITHUB_TOKEN"  # noqa: S105 -- the environment variable that has a token, for that API only

# The archive of linked files (scrapy crawl archive)
ARCHIVE_STORE = str(_HOME / "archive")  # a folder, or s3://bucket/prefix
ARCHIVE_MAX_SIZE = 1024 * 1024 * 1024  # bytes of a file; what is larger is recorded, not kept; 0 = no limit
ARCHIVE_LINKS_PER_PAGE = 20  # files that are archived of a page that came instead of a file
ARCHIVE_ROBOTSTXT_OBEY = False  # True: robots.txt counts for the catalogue's own links, too
ARCHIVE_BROKEN_AFTER_DAYS = 7.0  # days after which a file that nobody can fetch counts as broken
ARCHIVE_FRESH_DAYS = 30.0  # days for which a header may say that a file need not be asked for; 0 = ask in each run
ARCHIVE_VERIFY_HTTPS = True  # False: files of hosts whose certificate is not trusted are kept; the capture says so
ARCHIVE_VERIFY_HTTPS_EXCEPT: list[str] = []  # hosts that may have any certificate: "old.example.org"
ARCHIVE_CACHE_URL = ""  # the address under which `scrapy dashboard` or a web server serves the archive
ARCHIVE_KEEP_VERSIONS = 0  # older versions of a file that `scrapy archive prune` leaves; 0 = all
ARCHIVE_KEEP_DAYS = 0  # days for which it leaves older versions; 0 = for ever
ARCHIVE_MAX_BYTES = 0  # of all blobs; beyond it `scrapy archive prune` removes the oldest versions; 0 = no limit
FORMS_FILE = str(_HOME / "forms.toml")  # the forms before files: docs/archive.md

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
DOWNLOADER = "crawlers.components.politeness.pace.Downloader"  # default Scrapy's own, which fifty paused hosts stop
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
JSON_MAXSIZE = 100 * 1024 * 1024  # of JSON-LD and data.json, which are held in memory: JSON-LD at ten times its size
DOWNLOAD_HANDLERS = {
    **dict.fromkeys(("file", "data", "ftp", "s3")),  # a portal may not name local files
    **dict.fromkeys(
        ("http", "https"), "crawlers.components.spool.SpoolingHandler"
    ),  # default Scrapy's own: all in memory
}
COOKIES_ENABLED = False  # default True; metadata needs no session
REFERRER_POLICY = "no-referrer"  # default scrapy-default; a portal need not know what was asked before
METAREFRESH_ENABLED = False  # default True; an API does not redirect so
REDIRECT_MAX_TIMES = 10  # default 20
HTTPPROXY_ENABLED = True  # default True; portals are often behind a proxy
TWISTED_DNS_RESOLVER = "crawlers.safety.resolver.PublicOnlyResolver"  # default CachingThreadedResolver: any address
PORTAL_MAY_BE_PRIVATE = True  # False: a portal's address must be public, too, unless the next setting has it
ALLOWED_PRIVATE_HOSTS: list[str] = []  # besides the portal: "intranet.example.org", "10.0.0.7:8080"
API_TOKEN_ENV = "CKAN_API_TOKEN"  # noqa: S105 -- the environment variable that has the token, for the portal only
PUBLISH_TOKEN_ENV = "CKAN_API_KEY"  # noqa: S105 -- the variable that has the token of `scrapy publish`, for writes only
URLLENGTH_LIMIT = 0  # default 2083, beyond which requests are dropped without a word
MEMUSAGE_LIMIT_MB = 2048  # default 0, no limit

# Browser, for HTML catalogues whose rules ask for one
BROWSER_EXECUTABLE: str | None = None  # the Chromium to use; by default Playwright's own, else the system's
BROWSER_SANDBOX = True  # False where the machine can't have one; as root there is none anyway

# HTTP cache: off by default (HTTPCACHE_ENABLED)
HTTPCACHE_POLICY = (
    "crawlers.components.httpcache.Policy"  # default DummyPolicy, which keeps all for ever, robot checks too
)
HTTPCACHE_STORAGE = (
    "crawlers.components.httpcache.SqliteStorage"  # default FilesystemCacheStorage, seven files an answer
)
REQUEST_FINGERPRINTER_CLASS = (
    "crawlers.components.httpcache.AcceptFingerprinter"  # default: Turtle and HTML are one request
)

# Speed
CONCURRENT_ITEMS = 2  # default 100, a task each for every answer; these pipelines never wait
WARN_ON_GENERATOR_RETURN_VALUE = False  # default True, which parses the callback's source for most answers

# Logging
LOG_FORMATTER = "crawlers.extensions.scrapy_parts.LeanLogFormatter"  # default LogFormatter: a line for each item
LOG_LEVEL = "INFO"  # default DEBUG, which prints every item
LOG_VERSIONS: list[str] = []  # default: ten libraries' versions; the run report has what matters
LOGSTATS_INTERVAL = 60.0  # seconds between progress lines if the output is not a terminal

# Components
ADDONS = {
    "crawlers.store.location.Resolved": 50,
    "crawlers.components.politeness.pace.Politeness": 100,
    "crawlers.extensions.feeds.DatasetFeeds": 200,
}
SCHEDULER = "crawlers.components.scheduler.LedgerScheduler"  # default Scrapy's own, which does not survive kill -9
EXTENSIONS_BASE: dict[str, int] = {}  # default Scrapy's eleven; two of them run code for anyone who connects
EXTENSIONS = {
    "crawlers.extensions.scrapy_parts.CoreStats": 0,  # instead of Scrapy's, which is called for each item
    "scrapy.extensions.logcount.LogCount": 0,  # of Scrapy's own
    "scrapy.extensions.memusage.MemoryUsage": 0,
    "scrapy.extensions.memdebug.MemoryDebugger": 0,
    "scrapy.extensions.closespider.CloseSpider": 0,
    "crawlers.extensions.feeds.FeedExporter": 1,  # before Notify: a feed that can't be stored leaves no folder
    "crawlers.operate.notify.Notify": 5,  # before Report: a mistake in its settings leaves no folder
    "crawlers.extensions.shared_hosts.SharedHosts": 7,  # before Storing: it may wait for the queue
    "crawlers.extensions.report.Report": 10,  # first: it opens the job, locks the folder, may refuse to start
    "crawlers.extensions.progress.Heartbeat": 15,
    "crawlers.extensions.public_hosts.PublicHosts": 17,
    "crawlers.store.index.Index": 20,
    "crawlers.extensions.timeseries.TimeSeries": 25,
    "crawlers.safety.logs.RedactedLogs": 30,
    "crawlers.extensions.progress.Progress": 40,
    "crawlers.components.politeness.pace.Pace": 50,
}
SPIDER_MIDDLEWARES = {
    "pipelines.Batches": -1,  # next to the engine: all others see each item by itself
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,  # for who writes a spider
    "crawlers.store.index.SkipUnchanged": 100,
    "crawlers.extensions.scrapy_parts.DefaultErrback": 200,
    "crawlers.extensions.scrapy_parts.DeclaredEncoding": 300,
    "pipelines.NoExcludedExports": 400,
}
DOWNLOADER_MIDDLEWARES = {
    "crawlers.safety.tokens.NoLogins": 40,  # before all that might name the address
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    "crawlers.components.politeness.blocked.Offsite": 50,
    "crawlers.safety.resolver.PossibleHosts": 60,  # before robots.txt is asked for
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "crawlers.components.politeness.robots.Robots": 100,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "crawlers.components.politeness.pace.BackoffRetry": 550,
    "crawlers.components.politeness.blocked.Blocked": 570,  # sees an answer before BackoffRetry does, and unpacked
    "crawlers.safety.resolver.PublicOnly": 800,  # behind HttpProxyMiddleware
    "crawlers.safety.tokens.SecretHeaders": 805,  # as the next one
    "crawlers.safety.tokens.ApiToken": 810,  # behind all that might copy, store or log a request's headers
    "crawlers.safety.tokens.WriteToken": 815,  # behind ApiToken, whose token it replaces for writes
    "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware": None,
    "crawlers.components.httpcache.HttpCache": 900,
    "crawlers.safety.tokens.EchoedToken": 905,  # before the cache stores an answer, and behind what unpacks it
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    "crawlers.components.content_encoding.BoundedCompression": 910,  # default 590; the cache reads bodies
    "scrapy.downloadermiddlewares.stats.DownloaderStats": 920,  # default 850; below the cache
}
ITEM_PROCESSOR = "pipelines.Pipelines"  # default ItemPipelineManager, which takes items one by one
ITEM_PIPELINES = {
    "pipelines.Curate": 50,
    "pipelines.Validate": 100,
    "pipelines.Documents": 300,
    "pipelines.Manifest": 400,
}
