-- How a fingerprint was made: see middleware/fingerprints.ts. An instance of the release before, which may still
-- run, makes those of version 1 and knows no other.
alter table idempotent_answers add column fingerprint_version smallint not null default 1;
