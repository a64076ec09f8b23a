# Reads messages with Python's own parser, and prints what they hold: JSON arrays in and out, messages as base64.
import base64
import email
import email.policy
import json
import sys


def mailboxes(message, name):
    found = []
    for header in message.get_all(name, []):
        for address in header.addresses:
            found.append([address.display_name, address.addr_spec])
    return found


def defects(part):
    found = [repr(defect) for defect in part.defects]
    for name, value in part.items():
        found += [f"{name}: {defect!r}" for defect in value.defects]
    return found


def leaves(message):
    for part in message.walk():
        if not part.is_multipart():
            yield part


def text(message, subtype):
    for part in leaves(message):
        if part.get_content_type() == "text/" + subtype and part.get_content_disposition() != "attachment":
            content = part.get_payload(decode=True).decode(part.get_content_charset("us-ascii"))
            return content.replace("\r\n", "\n")
    return None


def attachment(part):
    return {
        "filename": part.get_filename(),
        "content_type": part.get_content_type(),
        "content_id": (part["Content-ID"] or "").strip().strip("<>") or None,
        "inline": part.get_content_disposition() == "inline",
        "content": base64.b64encode(part.get_payload(decode=True)).decode(),
    }


def read(encoded):
    message = email.message_from_bytes(base64.b64decode(encoded), policy=email.policy.SMTP)
    bodies = ("text/plain", "text/html")
    return {
        "defects": [defect for part in message.walk() for defect in defects(part)],
        "names": message.keys(),
        "subject": message["Subject"],
        "message_id": (message["Message-ID"] or "").strip().strip("<>") or None,
        "from": mailboxes(message, "From"),
        "to": mailboxes(message, "To"),
        "cc": mailboxes(message, "Cc"),
        "reply_to": mailboxes(message, "Reply-To"),
        "text": text(message, "plain"),
        "html": text(message, "html"),
        "attachments": [
            attachment(part)
            for part in leaves(message)
            if part.get_filename() or part.get_content_type() not in bodies
        ],
    }


json.dump([read(encoded) for encoded in json.load(sys.stdin)], sys.stdout)
