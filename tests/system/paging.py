"""A proxy that cuts listings into pages, for servers that have none or only very long ones. The store's clouds answer
with pages of a thousand or five thousand names."""

import re
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl, urlencode, urlsplit

from .faults import FaultProxy


class Dialect:
    """How a store writes its listings: what an element is, how the next page is named and asked for."""

    def __init__(self, elements: list[str], next_page: str, parameter: str):
        self.elements = re.compile("|".join(f"<{name}>.*?</{name}>" for name in elements).encode(), re.DOTALL)
        self.next_page = next_page
        self.parameter = parameter
        self.own_next = re.compile(f"<{next_page}>.*?</{next_page}>|<{next_page} ?/>".encode(), re.DOTALL)

    def page(self, whole: bytes, start: int, size: int) -> bytes:
        elements = self.elements.findall(whole)
        wanted = elements[start : start + size]
        first, last = (whole.index(elements[0]), whole.rindex(elements[-1]) + len(elements[-1])) if elements else (0, 0)
        before, after = self.own_next.sub(b"", whole[:first]), self.own_next.sub(b"", whole[last:])
        if not elements:
            return whole
        token = f"<{self.next_page}>{start + size}</{self.next_page}>".encode() if start + size < len(elements) else b""
        # The token stands beside the elements' container where that is the root, and behind it otherwise.
        if b"</Blobs>" in after:
            return before + b"".join(wanted) + after.replace(b"</Blobs>", b"</Blobs>" + token)
        return before.replace(b"<IsTruncated>true", b"<IsTruncated>false") + b"".join(wanted) + token + after


DIALECTS = {
    "s3": Dialect(["Contents", "CommonPrefixes"], "NextContinuationToken", "continuation-token"),
    "gcs": Dialect(["Contents", "CommonPrefixes"], "NextContinuationToken", "continuation-token"),
    "azure": Dialect(["Blob", "BlobPrefix"], "NextMarker", "marker"),
}


class PagingProxy(FaultProxy):
    """Answers listings in pages of `size` names. What the first page was cut from, the others are as well."""

    def __init__(self, upstream: str, kind: str, size: int):
        self.dialect = DIALECTS[kind]
        self.size = size
        self.wholes: dict[str, tuple[int, dict[str, str], bytes]] = {}
        super().__init__(upstream)

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if "list-type" not in query and query.get("comp") != "list":
            self.answer_whole(handler)
            return
        token = query.pop(self.dialect.parameter, None)
        key = f"{parts.path}?{urlencode(sorted(query.items()))}"
        if token is None:
            self.wholes[key] = self.fetch(handler, handler.path)
        status, headers, body = self.wholes[key]
        if status == 200:
            body = self.dialect.page(body, int(token or 0), self.size)
        self.answer(handler, status, body, headers)

    def answer_whole(self, handler: BaseHTTPRequestHandler) -> None:
        status, headers, body = self.fetch(handler, handler.path)
        self.answer(handler, status, body, headers)

    @property
    def listings(self) -> list[str]:
        return [path for _, path in self.seen if "list-type" in path or "comp=list" in path]
