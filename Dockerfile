# The service alone: the database is elsewhere (DATABASE_URL).

# Optional packages are the embedded PostgreSQL and tools of the workbench.
FROM node:22-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=optional --omit=dev

FROM dependencies AS build
# With the compiler, which is one of the optional packages.
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY generated generated
COPY src src
RUN npx tsc -p tsconfig.build.json

FROM node:22-bookworm-slim
# A stop is announced for longer than balancers take to notice (HAProxy's three checks, two seconds apart), and over within the ten
# seconds of `docker stop` where requests are short.
ENV NODE_ENV=production HOST=0.0.0.0 SHUTDOWN_DELAY_MS=7000
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/src/database/migrations src/database/migrations
COPY --from=build /app/src/docs/static src/docs/static
COPY package.json openapi.yaml ./
# `docker compose exec service keys list`, `docker compose exec service seed --count 1000`
RUN for name in keys migrate seed; do \
    printf '#!/bin/sh\nexec node /app/dist/src/commands/%s.js "$@"\n' $name > /usr/local/bin/$name && chmod 755 /usr/local/bin/$name; \
  done
USER node
EXPOSE 3000
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.METRICS_PORT || process.env.PORT || 3000}/readyz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--enable-source-maps", "dist/src/main.js"]
