"""Put pushes with commits into the digest; log what else happens to branches and tags."""

from picloud.sdk import log, queue


def handle(event, ctx):
    kind = event.payload["event"]
    payload = event.payload["payload"]
    repository = payload["repository"]["full_name"]
    if kind != "push":
        log.info(f"{payload['ref_type']} {payload['ref']}: {kind}", repository=repository)
        return None
    commits = payload.get("commits", [])
    branch = payload["ref"].removeprefix("refs/heads/")
    if not commits:
        log.info("no commits in this push", repository=repository, branch=branch)
        return None
    queue.enqueue(
        "digest",
        {
            "what": f"{len(commits)} commit(s) to {branch}: {first_line(commits[-1]['message'])}",
            "repository": repository,
            "score": 0,
        },
    )
    return {"commits": len(commits)}


def first_line(text):
    return text.split("\n")[0][:100]
