# syntax=docker/dockerfile:1
#
# Three images from one build:
#   docker build --target api -t skillet-api .
#   docker build --target worker -t skillet-worker .
#   docker build --target worker-full -t skillet-worker .
# `worker` also has the programs for most built-in skills. `worker-full` has the programs for all of them, including
# office, video and statistics, and is about 2 GB larger. Each image can run any command of `skillet`.
#
# The base images have exact version tags. A tag can be moved to another image, a digest cannot. To pin a digest, append
# the output of this command, as in `debian:TAG@sha256:…`:
#   docker buildx imagetools inspect debian:TAG --format '{{.Manifest.Digest}}'

FROM rust:1.95.0-slim-bookworm AS build
WORKDIR /src
COPY . .
# The build reads .sqlx instead of a database.
ENV SQLX_OFFLINE=true
# The build cache is not part of a layer, so the program is copied out of it.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --profile dist --locked -p cli \
    && install -D target/dist/skillet /out/skillet

FROM debian:bookworm-20261005-slim AS runtime
# HTTPS clients do not start without the root certificates in ca-certificates.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates tini \
    && rm -rf /var/lib/apt/lists/*
# Volumes mounted on these directories get this owner.
RUN groupadd --gid 10001 skillet \
    && useradd --uid 10001 --gid skillet --no-create-home --home-dir /var/lib/skillet \
        --shell /usr/sbin/nologin skillet \
    && install -d -m 0700 -o skillet -g skillet /var/lib/skillet /var/lib/skillet-assets \
    && install -d /etc/skillet
ENV SKILLET_DATA_DIR=/var/lib/skillet \
    SKILLET_ASSETS=/var/lib/skillet-assets \
    SKILLET_LOG=info,sqlx=warn \
    SKILLET_LOG_FORMAT=json
# The program reads a skillet.toml in this directory.
WORKDIR /etc/skillet
ENTRYPOINT ["tini", "--", "skillet"]

FROM runtime AS worker
RUN --mount=type=bind,source=scripts,target=/scripts \
    /scripts/install-programs --small \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/skillet /usr/local/bin/skillet
USER 10001:10001
CMD ["worker"]

FROM runtime AS worker-full
RUN --mount=type=bind,source=scripts,target=/scripts \
    /scripts/install-programs \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/skillet /usr/local/bin/skillet
USER 10001:10001
CMD ["worker"]

FROM runtime AS api
RUN apt-get update \
    && apt-get install -y --no-install-recommends curl \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/skillet /usr/local/bin/skillet
USER 10001:10001
ENV SKILLET_LISTEN=0.0.0.0:8420
EXPOSE 8420
HEALTHCHECK --interval=5s --timeout=5s --start-period=20s \
    CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8420/readyz"]
CMD ["api"]
