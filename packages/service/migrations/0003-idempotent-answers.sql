-- The first answers to requests that may arrive twice (`Idempotency-Key`), each kept by the transaction that did
-- what it tells of.
create table idempotent_answers (
  -- The keys of one caller are nobody else's. No foreign key: API keys are never deleted, and checking would cost
  -- every such request a look-up.
  api_key_id bigint not null,
  idempotency_key text not null,

  -- SHA-256 of the request: the same key with another request is a mistake.
  fingerprint bytea not null check (length(fingerprint) = 32),

  status smallint not null,
  -- Those that the handler gave. `json` keeps them in their order.
  headers json not null,
  -- As sent. Null: it has none.
  body bytea,

  created_at timestamptz not null default now(),
  primary key (api_key_id, idempotency_key)
);

-- What is too old is found from this end, however many there are.
create index idempotent_answers_created_at on idempotent_answers (created_at);
