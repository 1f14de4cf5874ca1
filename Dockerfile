# The server in an image of its own: one static binary, no shell, no root.
#
#   docker build -t runnel .
#   docker run -p 4222:4222 -p 8222:8222 runnel
#   docker run -p 4222:4222 -v runnel:/data runnel -js -sd /data -m 8222
#   docker run -p 4222:4222 -v "$PWD/server.conf:/server.conf:ro" runnel -c /server.conf -m 8222

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w" -o /runnel ./cmd/runnel
RUN mkdir /data

FROM scratch
COPY LICENSE /
COPY --from=build /runnel /runnel
# Empty, for streams: a volume that is mounted here begins as one that the user may write to.
COPY --from=build --chown=65532:65532 /data /data
USER 65532:65532
EXPOSE 4222 8222
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["/runnel", "healthcheck"]
ENTRYPOINT ["/runnel"]
CMD ["-m", "8222"]
