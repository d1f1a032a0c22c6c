-- The catalogue of animals.
create table pets (
  -- Only the service assigns identifiers, so no statement can set one.
  id bigint generated always as identity primary key,

  -- Length and characters are the contract's to bound; it may change without a migration.
  name text not null,

  -- No table of categories: no operation on them is specified.
  category_id bigint not null,

  -- Null: none was given. Which values there are is the contract's to say.
  status text
);

-- Pages of one status, in order of id. Without it the planner may walk the primary key and filter, which
-- reads the whole table where a status is rare. `include` keeps the page in the index alone.
create index pets_status_id on pets (status, id) include (name, category_id);
