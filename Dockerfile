# The package with its extras browser, s3 and fleet, Debian's Chromium, and the versions that the tests run with.
# docs/install.md#docker has the commands, docs/containers.md those of compose.yaml.
FROM python:3.11-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends chromium tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 harvest \
    && install --directory --owner harvest /catalogues

COPY requirements.txt requirements-dev.txt /package/
RUN grep -E '^(arro3|deltalake|procrastinate|psycopg)' /package/requirements-dev.txt >/package/requirements-fleet.txt \
    && pip install --no-cache-dir --requirement /package/requirements.txt --requirement /package/requirements-fleet.txt

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
