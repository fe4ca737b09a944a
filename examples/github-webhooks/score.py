"""Say how soon somebody should look at an issue: 0 (whenever) to 10 (now). Called by issues.py."""

LABEL_POINTS = {"security": 6, "bug": 4, "regression": 3, "question": 1}
URGENT_WORDS = ("crash", "data loss", "cannot start", "urgent")


def handle(event, ctx):
    issue = event.body
    reasons = []
    points = 0
    for label in issue["labels"]:
        if label.lower() in LABEL_POINTS:
            points += LABEL_POINTS[label.lower()]
            reasons.append(f"label {label}")
    for word in URGENT_WORDS:
        if word in issue["title"].lower():
            points += 3
            reasons.append(f"title says {word}")
    if issue["comments"] >= 3:
        points += 1
        reasons.append(f"{issue['comments']} comments")
    return {"score": min(points, 10), "reasons": reasons}
