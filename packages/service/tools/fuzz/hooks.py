"""What the checks of Schemathesis lack, and failures that are none."""

import re

import schemathesis

# Signs of internals in an error: stack traces, SQL, and error codes of libraries.
INTERNALS = re.compile(
    r"node_modules|node:|\.[cm]?[jt]s:\d|postgres|\bpg_|relation \\?\"|syntax error|FST_|HPE_|ERR_[A-Z]|ECONN"
)


@schemathesis.check
def errors_reveal_no_internals(ctx, response, case):
    found = INTERNALS.search(response.text) if response.status_code >= 400 else None
    assert found is None, f"The error reveals internals: {found[0]}"


@schemathesis.hook
def filter_failure(context, failure, case, response):
    return response.status_code != 501  # of an operation without a handler
