# The service alone, without a database: set DATABASE_URL.

# Optional packages are the embedded PostgreSQL and developer tools.
FROM node:26.11.1-trixie-slim@sha256:193fe51b64e77981119c98c2002c9e32a70e2f006fb4d25068ce0558998917f0 AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/engine/package.json packages/engine/contract-engine.js packages/engine/
COPY packages/service/package.json packages/service/contract-service.js packages/service/
RUN npm ci --omit=optional --omit=dev

FROM dependencies AS build
# With development and optional packages: the compiler's binary is optional.
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY generated generated
COPY packages/engine packages/engine
COPY packages/service packages/service
COPY src src
COPY scripts/build-packages.cjs scripts/build-server.cjs scripts/check-setup.cjs scripts/
RUN node scripts/build-server.cjs

FROM node:26.11.1-trixie-slim@sha256:193fe51b64e77981119c98c2002c9e32a70e2f006fb4d25068ce0558998917f0
# The shutdown delay is longer than load balancers take to notice (HAProxy: three checks, two seconds apart), and leaves short
# requests time to finish within the ten seconds of `docker stop`.
ENV NODE_ENV=production HOST=0.0.0.0 SHUTDOWN_DELAY_MS=7000
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist/service dist/service
COPY --from=build /app/src/migrations src/migrations
COPY --from=build /app/dist/generated/contract.plan dist/generated/
COPY --from=build /app/packages/engine/package.json packages/engine/
COPY --from=build /app/packages/service/package.json packages/service/
COPY generated/openapi.yaml generated/
COPY package.json ./
# `docker compose exec service keys list`, `docker compose exec service seed --count 1000`
RUN for command in keys migrate seed/seed; do \
    program=/usr/local/bin/${command##*/}; \
    printf '#!/bin/sh\nexec node /app/dist/service/commands/%s.js "$@"\n' $command > $program && chmod 755 $program; \
  done
USER node
EXPOSE 3000
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.METRICS_PORT || process.env.PORT || 3000}/readyz`).then((response) => process.exit(response.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--enable-source-maps", "dist/service/main.js"]
