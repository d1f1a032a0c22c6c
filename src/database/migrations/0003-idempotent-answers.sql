-- Responses to requests with an `Idempotency-Key`, each stored in the transaction of its request.
create table idempotent_answers (
  -- Keys are scoped to a client's API key. No foreign key: API keys are never deleted, and the check would add a lookup to every such
  -- request.
  api_key_id bigint not null,
  idempotency_key text not null,

  -- SHA-256 of the request: reusing the key for a different request is an error.
  fingerprint bytea not null check (length(fingerprint) = 32),

  status smallint not null,
  -- The headers that the operation sets. `json` preserves their order.
  headers json not null,
  -- The bytes as sent; null if there is no body.
  body bytea,

  created_at timestamptz not null default now(),
  primary key (api_key_id, idempotency_key)
);

-- Finds expired responses without a scan of the table.
create index idempotent_answers_created_at on idempotent_answers (created_at);
