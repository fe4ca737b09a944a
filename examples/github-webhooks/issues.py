"""Score an issue, and put a line about it into the digest."""

from picloud.sdk import invoke, log, queue


def handle(event, ctx):
    payload = event.payload["payload"]
    issue = payload["issue"]
    result = invoke(
        "score",
        {
            "title": issue["title"],
            "labels": [label["name"] for label in issue.get("labels", [])],
            "comments": issue.get("comments", 0),
        },
    )
    queue.enqueue(
        "digest",
        {
            "what": f"issue #{issue['number']} {payload['action']}: {issue['title']}",
            "repository": payload["repository"]["full_name"],
            "score": result["score"],
        },
    )
    log.info("scored", issue=issue["number"], score=result["score"], reasons=result["reasons"])
    return result
