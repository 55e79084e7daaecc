"""How an object store is reached: the settings that Spark is given, and the usual variables of the environment.

Spark's settings count first (`spark.hadoop.fs.s3a.access.key` and its like, also those of one bucket), so that it is
told once for what Spark reads and what we write. What neither says is found by the libraries themselves, as are the
roles of a machine in a cloud.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_HADOOP = "spark.hadoop."
_ENVIRONMENT = {
    "access.key": ("AWS_ACCESS_KEY_ID",),
    "secret.key": ("AWS_SECRET_ACCESS_KEY",),
    "session.token": ("AWS_SESSION_TOKEN",),
    "endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "endpoint.region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
}
_HIDDEN = "(hidden)"
_CONNECT_S, _ANSWER_S = 5, 5
"""How long a store may take to be reached, and to go on with an answer (in truth twice as long)."""
_MANY = 1_000


@dataclass(frozen=True, slots=True)
class S3Access:
    """How a bucket is reached; None is for the library to find out. Nothing of it shows when it is printed."""

    key: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    host: str | None = field(default=None, repr=False)
    """With its port; None for the provider's own."""
    scheme: str = "https"
    region: str | None = None
    is_path_style: bool = False
    """Whether the bucket stands in the path, and not before the host."""

    def for_arrow(self) -> dict[str, Any]:
        """The options of `pyarrow.fs.S3FileSystem`."""
        options: dict[str, Any] = {
            "scheme": self.scheme,
            "force_virtual_addressing": not self.is_path_style,
            "connect_timeout": _CONNECT_S,
            "request_timeout": _ANSWER_S,
        }
        given = {"endpoint_override": self.host, "region": self.region}
        if self.key is not None and self.secret is not None:
            given |= {"access_key": self.key, "secret_key": self.secret, "session_token": self.token}
        return options | {name: value for name, value in given.items() if value is not None}

    def for_delta(self, patience_s: int) -> dict[str, str]:
        """The storage options of `deltalake`, which sends a request that fails again for so long."""
        given = {
            "connect_timeout": f"{_CONNECT_S}s",
            "max_retries": str(_MANY),  # the time decides
            "retry_timeout": f"{patience_s}s",
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_SESSION_TOKEN": self.token,
            "AWS_ENDPOINT_URL": None if self.host is None else f"{self.scheme}://{self.host}",
            "AWS_REGION": self.region,
            "AWS_ALLOW_HTTP": "true" if self.scheme == "http" else None,
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false" if self.is_path_style else "true",
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class StorageAccess:
    """What is known of how stores are reached.

    >>> access = StorageAccess.of({"spark.hadoop.fs.s3a.secret.key": "xyz", "spark.ui.enabled": "false"})
    >>> access, access.s3("events").secret
    (StorageAccess(), 'xyz')
    """

    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Hadoop's settings of file systems, and what the environment says in their words."""

    @classmethod
    def of(cls, config: Mapping[str, str], environment: Mapping[str, str] | None = None) -> StorageAccess:
        """What Spark's configuration says, and the environment where that says nothing."""
        given = _from_environment(os.environ if environment is None else environment)
        given |= {name.removeprefix(_HADOOP): value for name, value in config.items() if _is_of_files(name)}
        if given.get("fs.s3a.endpoint"):  # whoever names a host of their own rarely has a name for each bucket
            given.setdefault("fs.s3a.path.style.access", "true")
        return cls(tuple(sorted(given.items())))

    def s3(self, bucket: str) -> S3Access:
        """How a bucket of S3 is reached."""
        known = dict(self.settings)

        def setting(name: str) -> str | None:
            return known.get(f"fs.s3a.bucket.{bucket}.{name}") or known.get(f"fs.s3a.{name}") or None

        endpoint = setting("endpoint") or ""
        is_plain = endpoint.startswith("http://") or (
            "://" not in endpoint and setting("connection.ssl.enabled") == "false"
        )
        return S3Access(
            key=setting("access.key"),
            secret=setting("secret.key"),
            token=setting("session.token"),
            host=endpoint.removeprefix("http://").removeprefix("https://").rstrip("/") or None,
            scheme="http" if is_plain else "https",
            region=setting("endpoint.region"),
            is_path_style=(setting("path.style.access") or ("true" if endpoint else "false")) == "true",
        )

    def hidden(self, text: str) -> str:
        """A text of somebody else's, without secrets in it."""
        for secret in self._secrets():
            text = text.replace(secret, _HIDDEN)
        return text

    def _secrets(self) -> Iterable[str]:
        return (value for name, value in self.settings if value and _is_secret(name))


NO_ACCESS = StorageAccess()


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for setting, names in _ENVIRONMENT.items():
        value = next((environment[name] for name in names if environment.get(name)), None)
        if value is not None:
            found[f"fs.s3a.{setting}"] = value
    return found


def _is_of_files(name: str) -> bool:
    return name.startswith((f"{_HADOOP}fs.", "fs."))


def _is_secret(name: str) -> bool:
    return any(word in name for word in ("key", "secret", "token", "password"))
