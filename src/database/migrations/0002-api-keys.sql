-- API keys. The keys themselves are never stored.
create table api_keys (
  id bigint generated always as identity primary key,

  -- SHA-256 of the key. Authentication looks keys up by the unique index.
  hash bytea not null unique check (length(hash) = 32),

  name text not null,

  -- A plan of the contract's `x-rate-limits`, where its quotas are.
  plan text not null,

  -- Set for plans with custom quotas: both or neither.
  per_minute integer check (per_minute > 0),
  per_day integer check (per_day > 0),
  check ((per_minute is null) = (per_day is null)),

  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
