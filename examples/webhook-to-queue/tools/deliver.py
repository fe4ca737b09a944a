"""Send deliveries as GitHub does: `deliver.py URL SECRET FILE.jsonl`; lines are {"event": …, "payload": …}.

Plain Python for your terminal, no script of the app. An id is made from the content: what is sent twice counts once.
"""

import hashlib
import hmac
import json
import sys
import urllib.request
import uuid


def sign(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def deliver(url: str, secret: str, event: str, payload: object) -> int:
    body = json.dumps(payload).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/example",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{event} {body!r}")),
        "X-Hub-Signature-256": sign(secret, body),
    }
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
        return answer.status


if __name__ == "__main__":
    url, secret, path = sys.argv[1:]
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            delivery = json.loads(line)
            print(deliver(url, secret, delivery["event"], delivery["payload"]), delivery["event"])
