# The package, Debian's Chromium, and what the tests run with; docs/install.md#docker has the commands.
FROM python:3.11-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends chromium tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 harvest \
    && install --directory --owner harvest /catalogues

COPY requirements.txt /package/
RUN pip install --no-cache-dir --requirement /package/requirements.txt

COPY pyproject.toml setup.py README.md LICENSE NOTICE /package/
COPY crawlers /package/crawlers
COPY pipelines /package/pipelines
RUN pip install --no-cache-dir --no-deps /package && rm -r /package

# The folder of `catalogue-crawlers init`, with OUTPUT_DIR below it
USER harvest
WORKDIR /catalogues
VOLUME /catalogues
ENTRYPOINT ["tini", "--", "catalogue-crawlers"]
CMD ["--help"]
