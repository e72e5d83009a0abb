# A replacement for the PostgreSQL image if no image registry is reachable: Debian's server, with the variables of the
# official image that docker-compose.yml uses.
ARG BASE
FROM $BASE
RUN apt-get update \
    && apt-get install -y --no-install-recommends postgresql \
    && rm -rf /var/lib/apt/lists/* \
    && ln -s /usr/lib/postgresql/*/bin /usr/lib/postgresql/bin
COPY postgres-entrypoint /usr/local/bin/
ENV PATH=/usr/lib/postgresql/bin:/usr/local/bin:/usr/bin:/bin \
    PGDATA=/var/lib/postgresql/data/cluster
# A volume mounted here gets this owner.
RUN install -d -o postgres -g postgres /var/lib/postgresql/data
ENTRYPOINT ["postgres-entrypoint"]
