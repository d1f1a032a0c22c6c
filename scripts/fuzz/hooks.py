"""What the checks of Schemathesis lack, and failures that are none."""

import re

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData

# Stack traces, SQL, and error codes of libraries.
INTERNALS = re.compile(
    r"node_modules|node:|\.[cm]?[jt]s:\d|postgres|\bpg_|relation \\?\"|syntax error|FST_|HPE_|ERR_[A-Z]|ECONN"
)


@schemathesis.check
def errors_reveal_no_internals(ctx, response, case):
    found = INTERNALS.search(response.text) if response.status_code >= 400 else None
    assert found is None, f"The error reveals internals: {found[0]}"


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if response.status_code == 501:  # of an operation without a handler
        return False
    # A cursor is opaque: its schema accepts values that are in no link of the service, which refuses them.
    is_cursor = "cursor" in (case.query or {}) and "query.cursor must" in response.text
    return not (is_cursor and isinstance(failure, RejectedPositiveData))
