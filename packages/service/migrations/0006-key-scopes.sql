-- What a key may do, where operations of the contract demand scopes. A key that the release before creates has none,
-- and so may call what demands none.
alter table api_keys add column scopes text[] not null default '{}';
