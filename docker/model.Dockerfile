# A model's folder as an image, which can be pulled, cached, signed and versioned independently of the server.
#
#   BASE     an image with `cp`, with which an init container copies the folder to where the server reads it; `scratch`
#            suffices if Kubernetes mounts the image as a volume (1.33 and later)
#   MODEL    the folder, in models/
#   NAME     its name in the image: /models/NAME
ARG BASE=docker.io/library/busybox:1.36-musl

FROM ${BASE}
ARG MODEL=models/en-de
ARG NAME=en-de
ARG REVISION=unknown
ARG VERSION=unknown
LABEL org.opencontainers.image.title="salient-model-${NAME}" \
      org.opencontainers.image.description="A model for salient-server" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# Readable to every user, also from a checkout that was made with umask 077. One mode for files and folders, because
# older builders know no a+rX.
COPY --chmod=755 ${MODEL}/ /models/${NAME}/
USER 65532:65532
CMD ["cp", "-rL", "/models/.", "/target/"]
