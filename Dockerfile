# XStreamCast with its server. Build: docker build -t xcast . Use: docker run --rm -v "$PWD:/data" xcast query 'count(//item)' auction.xml
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY xstreamcast xstreamcast
COPY examples examples
RUN pip wheel --no-cache-dir --wheel-dir /wheels ".[serve,arrow]"

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels "xstreamcast[serve,arrow]" \
    && rm -rf /wheels \
    && useradd --create-home xcast \
    && mkdir /data \
    && chown xcast /data
USER xcast
# The kernels' code, for the processor of the machine that builds; another processor compiles once more.
RUN python -m xstreamcast.native
WORKDIR /data
EXPOSE 8203
ENTRYPOINT ["xcast"]
CMD ["--help"]
