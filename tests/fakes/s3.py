"""A fake of S3, for a pod with botocore in it: one bucket in memory, objects whole and in parts.

It checks each signature, so who comes with another key is refused. Usage: s3.py PORT BUCKET KEY SECRET
"""

import hashlib
import itertools
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# These are in the image of the pod, and not here.
from botocore.auth import S3SigV4Auth  # type: ignore[import-not-found]  # as above
from botocore.awsrequest import AWSRequest  # type: ignore[import-not-found]  # as above
from botocore.credentials import Credentials  # type: ignore[import-not-found]  # as above

Answer = tuple[int, bytes]

OBJECTS: dict[str, bytes] = {}
UPLOADS: dict[str, dict[int, bytes]] = {}
NUMBERS = itertools.count(1)


def error(status: int, code: str) -> Answer:
    return status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()


class Handler(BaseHTTPRequestHandler):
    """A request by the path `/BUCKET/KEY`."""

    protocol_version = "HTTP/1.1"
    bucket = ""
    credentials: Credentials

    def do_GET(self) -> None:
        self.answer()

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, content = self.decided(body) if self.is_signed() else error(403, "SignatureDoesNotMatch")
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.md5(body or content).hexdigest()}"')  # noqa: S324  what S3 has
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def is_signed(self) -> bool:
        """Return whether the request is signed with the secret key."""
        _, _, told = self.headers.get("Authorization", "").partition(" ")
        words = dict(word.strip().split("=", 1) for word in told.split(",") if "=" in word)
        if not {"Credential", "SignedHeaders", "Signature"} <= words.keys():
            return False
        key, _, region, *_ = words["Credential"].split("/")
        headers = {name: self.headers[name] for name in words["SignedHeaders"].split(";")}
        request = AWSRequest(self.command, f"http://{self.headers['Host']}{self.path}", headers)
        request.context["timestamp"] = self.headers["X-Amz-Date"]
        auth = S3SigV4Auth(self.credentials, "s3", region)
        signed = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
        return bool(key == self.credentials.access_key and signed == words["Signature"])

    def decided(self, body: bytes) -> Answer:
        asked = urllib.parse.urlsplit(self.path)
        bucket, _, key = asked.path.strip("/").partition("/")
        query = dict(urllib.parse.parse_qsl(asked.query, keep_blank_values=True))
        if bucket != self.bucket:
            return error(404, "NoSuchBucket")
        if "uploads" in query or "uploadId" in query:
            return self.in_parts(key, query, body)
        if self.command == "PUT":
            OBJECTS[key] = body
            return 200, b""
        if key and key not in OBJECTS:
            return error(404, "NoSuchKey")
        if self.command == "DELETE":
            del OBJECTS[key]
            return 204, b""
        return 200, OBJECTS.get(key, b"")

    def in_parts(self, key: str, query: dict[str, str], body: bytes) -> Answer:
        if "uploads" in query:
            upload = f"upload-{next(NUMBERS)}"
            UPLOADS[upload] = {}
            return 200, f"<Result><UploadId>{upload}</UploadId></Result>".encode()
        parts = UPLOADS[query["uploadId"]]
        if self.command == "PUT":
            parts[int(query["partNumber"])] = body
        elif self.command == "POST":
            OBJECTS[key] = b"".join(parts[number] for number in sorted(parts))
            self.log_message("%s has %d parts", key, len(parts))
        return 200, b"<Result></Result>"


def main() -> None:
    port, Handler.bucket, key, secret = sys.argv[1:]
    Handler.credentials = Credentials(key, secret)
    ThreadingHTTPServer(("0.0.0.0", int(port)), Handler).serve_forever()  # noqa: S104  in a pod, for other pods


if __name__ == "__main__":
    main()
