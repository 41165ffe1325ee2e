# The server for NVIDIA GPUs, without a model: machine code for sm_80, sm_89 and sm_90, and PTX for later ones. It also
# runs on CPUs. `docker/build cuda` builds it. The driver comes from the node (NVIDIA container toolkit, or GPU
# operator).
#
#   BUILD_BASE   Debian 12, Ubuntu 24.04 or something that has their packages, with the CUDA toolkit 12.8 or later; for
#                CUDA 13: docker.io/nvidia/cuda:13.0.1-devel-ubuntu24.04
#   BASE         the same distribution, able to install the same CUDA's cuBLAS; for CUDA 13:
#                docker.io/nvidia/cuda:13.0.1-base-ubuntu24.04
#   ARCHITECTURES  what to compile for; one of them alone builds faster: 80 (A100), 89 (L4, L40S), 90a (H100, H200)
ARG BUILD_BASE=docker.io/nvidia/cuda:12.8.1-devel-ubuntu24.04
ARG BASE=docker.io/nvidia/cuda:12.8.1-base-ubuntu24.04

FROM ${BUILD_BASE} AS build
WORKDIR /src
COPY scripts/common.sh scripts/
RUN bash -c '. scripts/common.sh && install_missing "${build_packages[@]}" dpkg-dev file ccache'
COPY . .
ARG REVISION=unknown
ARG ARCHITECTURES=80;89;90a
ENV PATH=/usr/local/cuda/bin:${PATH}
RUN --mount=type=cache,target=/root/.cache/ccache SALIENT_REVISION="${REVISION}" \
    scripts/package cuda "-DSALIENT_CUDA_ARCHITECTURES=${ARCHITECTURES}"

FROM ${BASE}
ARG REVISION=unknown
ARG VERSION=unknown
LABEL org.opencontainers.image.title="salient-server" \
      org.opencontainers.image.description="Document translation over gRPC and HTTP, on NVIDIA GPUs" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# Salient's packages name the libraries that they need, among them cuBLAS.
RUN --mount=type=bind,from=build,source=/src/build/cuda/package,target=/packages \
    --mount=type=bind,source=docker,target=/docker \
    /docker/install "${VERSION}" /packages/salient-server_*.deb /packages/salient_*.deb
USER 65532:65532
EXPOSE 50051 8080 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["/usr/lib/salient/healthcheck"]
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
ENTRYPOINT ["salient-server"]
CMD ["--help"]
