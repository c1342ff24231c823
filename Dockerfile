# syntax=docker/dockerfile:1
#
# A static binary and nothing else: no shell, no package manager, user 65532.
#
#   docker build -t fingerpost/fingerpost:0.1.0 .
#
# Alpine's toolchain links against musl, and statically by default. It builds for the platform that it runs on,
# so `docker buildx build --platform linux/amd64,linux/arm64` gives an image of both.
FROM rust:1.95-alpine AS build
# ring has C and assembler parts.
RUN apk add --no-cache musl-dev gcc
WORKDIR /src
COPY . .
# What `fingerpost version` says: docker build --build-arg COMMIT=$(git rev-parse --short=12 HEAD) …
ARG COMMIT=
ARG DATE=
ENV FINGERPOST_COMMIT=$COMMIT FINGERPOST_DATE=$DATE
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --profile dist --locked --package fingerpost \
    && install -D -s target/dist/fingerpost /image/usr/local/bin/fingerpost
# `kubectl fingerpost` where the image serves as a toolbox; the roots of trust for providers' certificates; a
# place for state that user 65532 may write to when no volume is mounted there.
RUN ln -s fingerpost /image/usr/local/bin/kubectl-fingerpost \
    && install -D -m 644 /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt \
    && install -d -o 65532 -g 65532 /image/var/lib/fingerpost

FROM scratch
COPY --from=build /image /
USER 65532:65532
# DNS over UDP and TCP; HTTP of `dns`; metrics, health and webhook of `operator`.
EXPOSE 5353/udp 5353/tcp 8053 8054 8080 8081 9443
ENTRYPOINT ["/usr/local/bin/fingerpost"]
CMD ["help"]
