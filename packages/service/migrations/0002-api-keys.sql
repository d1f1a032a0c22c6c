-- Who may call. The key itself is never stored.
create table api_keys (
  id bigint generated always as identity primary key,

  -- SHA-256 of the key. The unique index is the look-up of every request.
  hash bytea not null unique check (length(hash) = 32),

  name text not null,

  -- A plan of the contract (`x-rate-limits`), which alone says what it allows.
  plan text not null,

  -- Agreed for this key, where its plan leaves the quotas open: both or neither.
  per_minute integer check (per_minute > 0),
  per_day integer check (per_day > 0),
  check ((per_minute is null) = (per_day is null)),

  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
