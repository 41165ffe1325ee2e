# The server for CPUs, without a model. docker/build builds it; docs/deploying.md says how to run it.
#
#   BASE    Debian 12, or a distribution with its packages. The image is BASE with the packages that the server needs.
ARG BASE=docker.io/library/debian:bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
COPY scripts/common.sh scripts/
RUN bash -c '. scripts/common.sh && install_missing "${build_packages[@]}" dpkg-dev file ccache'
COPY . .
ARG REVISION=unknown
RUN --mount=type=cache,target=/root/.cache/ccache SALIENT_REVISION="${REVISION}" scripts/package

FROM ${BASE}
ARG REVISION=unknown
ARG VERSION=unknown
LABEL org.opencontainers.image.title="salient-server" \
      org.opencontainers.image.description="Document translation over gRPC and HTTP, on CPUs" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# Salient's packages name the libraries that they need. So nothing else is installed, and every library belongs to a
# package.
RUN --mount=type=bind,from=build,source=/src/build/release/package,target=/packages \
    --mount=type=bind,source=docker,target=/docker \
    /docker/install "${VERSION}" /packages/salient-server_*.deb /packages/salient_*.deb
USER 65532:65532
EXPOSE 50051 8080 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["/usr/lib/salient/healthcheck"]
ENTRYPOINT ["salient-server"]
CMD ["--help"]
