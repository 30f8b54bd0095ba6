# The program alone: one static binary that runs as a user without rights, on a file system that may be read-only.
#
#   docker build --build-arg VERSION="$(git describe --tags --always)" -t plenary .
#   docker run --rm -e DATABASE_URL=… plenary doctor
#
# compose.yaml builds it too. `make lint-compose` holds both files to what they promise.

FROM --platform=$BUILDPLATFORM golang:1.26-alpine AS build
WORKDIR /src
ENV CGO_ENABLED=0 GOTOOLCHAIN=local
# The dependencies apart from the code, because they change less often.
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=
ARG TARGETOS TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath \
        -ldflags "-s -w -X $(go list ./platform/host).version=$VERSION" -o /out/app ./cmd/app \
    && mkdir -p /out/var/lib/plenary

FROM scratch
# Mail servers show certificates. Time zones need no files: they are in the binary.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/app /app
# A new volume takes its owner from the folder that it is mounted on.
COPY --from=build --chown=65532:65532 /out/var/ /var/
ENV HTTP_ADDR=0.0.0.0:8080 DATA_DIR=/var/lib/plenary
USER 65532:65532
EXPOSE 8080
STOPSIGNAL SIGTERM
# In exec form the program is process 1 itself, so that the signal reaches it.
ENTRYPOINT ["/app"]
CMD ["serve"]
