-- The store's animals.
create table pets (
  -- Generated always: no statement can set an id.
  id bigint generated always as identity primary key,

  -- Length and characters are limited in the contract, so they can change without a migration.
  name text not null,

  -- No table of categories: the contract has no operations on them.
  category_id bigint not null,

  -- Null if not set. The contract defines the values.
  status text
);

-- Pages of one status, in order of id. Without this index the planner may scan the primary key with a filter, which reads the whole table
-- for a rare status. `include` allows index-only scans.
create index pets_status_id on pets (status, id) include (name, category_id);
