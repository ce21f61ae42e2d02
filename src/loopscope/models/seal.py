"""The seal of a recorded document: sha256 over its own bytes, as its last member. It shows accidents, not forgers."""

from __future__ import annotations

import hashlib
import json
import re

from pydantic import BaseModel

from loopscope.models.base import Versioned

_SEAL = re.compile(rb',\n "seal": "sha256:([0-9a-f]{64})"\n}\n\Z')


def document(model: BaseModel) -> bytes:
    """A recorded type as it lies in its file, sealed where its type says so; equal models give equal bytes."""
    data = (model.model_dump_json(indent=1) + "\n").encode()
    sealed = isinstance(model, Versioned) and model.SEALED_SINCE is not None
    return seal(data) if sealed else data


def seal(data: bytes) -> bytes:
    """A JSON object, one member a line, with the sha256 of these bytes as one more, last member."""
    line = b',\n "seal": "sha256:%s"' % hashlib.sha256(data).hexdigest().encode()
    return data.removesuffix(b"\n}\n") + line + b"\n}\n"


def unseal(data: bytes) -> tuple[bytes, bool | None]:
    """(the document without its seal, whether the seal fits); None for the second when there is no seal."""
    found = _SEAL.search(data)
    if found is None:
        return data, False if b'"seal"' in data[-200:] else None
    body = data[: found.start()] + b"\n}\n"
    return body, hashlib.sha256(body).hexdigest().encode() == found[1]


def must_be_sealed(kind: type[BaseModel], body: bytes) -> bool:
    """Whether a (valid) document of this type and of the version it names always carries a seal."""
    since = kind.SEALED_SINCE if issubclass(kind, Versioned) else None
    return since is not None and json.loads(body).get("schema_version", since) >= since
