-- Who created and who revoked a key, in the words of `keys --by`. Null: the service itself, or a command of the
-- release before, which knows neither column.
alter table api_keys add column created_by text, add column revoked_by text;
