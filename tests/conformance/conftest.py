"""Lets the suites, which are shipped outside the tests, show what an assertion compared."""

import pytest

pytest.register_assert_rewrite("comity.testing.source_conformance", "comity.testing.sink_conformance")
