from __future__ import annotations

import pytest

from comity.cli.spark import read_spark_config
from comity.errors import Misuse


def test_read_spark_config_takes_the_last_of_a_setting() -> None:
    given = ["spark.ui.enabled=true", "spark.executor.extraJavaOptions=-Da=b", "spark.ui.enabled="]
    assert read_spark_config(given) == {"spark.ui.enabled": "", "spark.executor.extraJavaOptions": "-Da=b"}
    assert read_spark_config(None) == {}


@pytest.mark.parametrize("given", ["spark.ui.enabled", "executor.memory=4g", "=", ""])
def test_read_spark_config_refuses_what_is_no_setting(given: str) -> None:
    with pytest.raises(Misuse, match="no setting of Spark") as failure:
        read_spark_config([given])
    assert failure.value.code == "spark-config"
