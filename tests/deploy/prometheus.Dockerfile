# Debian's Prometheus with the paths and flags of docker.io/prom/prometheus, for machines that reach no registry:
#   docker build -t prometheus -f tests/deploy/prometheus.Dockerfile tests/deploy
ARG BASE=docker.io/library/debian:bookworm-slim
FROM ${BASE}
RUN apt-get update -q && apt-get install -q -y --no-install-recommends prometheus && rm -rf /var/lib/apt/lists/* && \
    mkdir -p /prometheus && chown nobody:nogroup /prometheus
USER nobody
VOLUME /prometheus
EXPOSE 9090
ENTRYPOINT ["prometheus"]
CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
