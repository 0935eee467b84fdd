"""The life of users, posts, keys, events and webhooks by the client library, typed: mypy checks it in strict mode. Told by
`BASE KEY`, it prints what it did."""
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from latchkey_client import (
    AuthenticationError, ConflictError, Latchkey, NotFoundError, PermissionDeniedError, PreconditionFailedError, ValidationError, models,
    modify, response_of,
)

Kind = TypeVar("Kind", bound=Exception)
base, admin_key = sys.argv[1:]
client = Latchkey(base, admin_key)


def check(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(what)
    print(f"ok {what}")


def raised(kind: type[Kind], call: Callable[[], object]) -> Kind:
    try:
        call()
    except kind as error:
        return error
    raise SystemExit("nothing was raised")


user: models.User = client.create_user({"name": "Ada Lovelace", "email": "ada@example.com"})
info = response_of(user)
check(info is not None and info.status == 201 and info.etag is not None, "a user is created, and its tag is known")
taken = raised(ConflictError, lambda: client.create_user({"name": "Ada", "email": "ADA@example.com"}))
check(taken.code == "email_taken" and taken.request_id is not None, "an address belongs to one user")
wrong = raised(ValidationError, lambda: client.create_user({"name": "", "email": "nobody"}))
check(sorted(field["pointer"] for field in wrong.fields) == ["/email", "/name"], "all field errors come at once")

renamed = client.update_user(user["id"], {"name": "Ada King"}, if_match=user)
check(renamed["name"] == "Ada King", "a change of what was read")
late = raised(PreconditionFailedError, lambda: client.update_user(user["id"], {"name": "Ada Byron"}, if_match=user))
check(late.status == 412, "a change of what somebody else has changed")
counted = client.create_user({"name": "0", "email": "count@example.com"})


def increment() -> None:
    modify(client.get_user, client.update_user, counted["id"], lambda record: {"name": str(int(record["name"]) + 1)}, attempts=20)


threads = [threading.Thread(target=increment) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
total = client.get_user(counted["id"])
check(total["name"] == "4", "no change is lost where several modify a record")
check(client.get_user(counted["id"], if_none_match=total) is total, "what is still current is not sent again")
replaced = client.replace_user(user["id"], {"name": "Ada", "email": user["email"]})
check(replaced["name"] == "Ada", "a user is replaced")

posts = [client.create_post({"user_id": user["id"], "title": title}) for title in ("One", "Two", "Three", "Four", "Five")]
titles = [post["title"] for post in client.iterate_posts(author=user["id"], limit=2)]
check(titles == ["One", "Two", "Three", "Four", "Five"], "posts over three pages")
pages = [page for page in client.iterate_posts_of_user(user["id"], limit=2, sort="-id").pages() if page["data"]]
check(len(pages) == 3, "page by page")
check(len(list(client.iterate_posts(author=user["id"], page=2, limit=2))) == 3, "from the second page on")
check(client.update_post(posts[0]["id"], {"status": "published"})["published_at"] is not None, "a post is published")

created = client.create_key({"name": "reader", "scopes": ["users:read"], "expires_in": 3600})
key_text = created["key"]
check(key_text is not None, "a key is shown when it is made")
reader = Latchkey(base, lambda: key_text or "")
check(reader.get_current_key()["id"] == created["id"], "it works")
check(raised(PermissionDeniedError, reader.list_posts).code == "insufficient_scope", "as far as its scopes go")
rotated = client.rotate_key(created["id"], {"overlap_seconds": 0})
check(raised(PermissionDeniedError, reader.list_users).code == "key_deactivated", "the old one is off after a rotation")
key_text = rotated["key"]
check(key_text is not None, "the new one is shown")
check(reader.list_users()["pagination"]["total"] == 2, "the next request has the new one")
check(client.verify_key({"key": key_text or "", "scopes": ["users:read"]})["code"] == "VALID", "a key is verified")
check(client.deactivate_key(rotated["id"])["state"] == "deactivated", "a key is deactivated")
check(client.verify_key({"key": key_text or ""})["code"] == "DEACTIVATED", "which others hear")
check(raised(AuthenticationError, lambda: Latchkey(base, "x" * 48).list_users()).code == "key_invalid", "no key")

receipt = client.receive_event("shop", {"type": "paid", "amount": 12})
event = client.get_event(receipt["id"])
check(event["source"] == "shop" and event["payload"]["amount"] == 12, "an event is kept")
check(client.put_event_secret("builds", {"format": "github"})["secret"] is not None, "a source gets a secret")
client.delete_event_secret("builds")

webhook = client.create_webhook({"url": "https://hooks.example.com/", "types": ["user.*"]})
check((webhook["secret"] or "").startswith("whsec_"), "a webhook has a secret")
check(client.update_webhook(webhook["id"], {"enabled": False})["disabled_reason"] == "manual", "a webhook is disabled")
client.delete_webhook(webhook["id"])

feed = client.iterate_changes(limit=5)
check([change["sequence"] for change in feed.first(13)] == list(range(1, 14)), "changes in order over three pages")
check(feed.position == "12", "the last one that was taken is not yet done")
rest = client.iterate_changes(after=feed.position)
check(list(rest)[0]["sequence"] == 13, "the feed goes on where it stopped")
followed: list[str] = []


def follow() -> None:
    for change in client.iterate_changes(after=rest.position, type="user.*", follow=True, poll_seconds=0.02):
        followed.append(change["type"])
        if len(followed) == 2:
            break


following = threading.Thread(target=follow)
following.start()
client.create_post({"user_id": user["id"], "title": "Six"})
client.delete_user(counted["id"])
client.delete_user(user["id"])
following.join(20)
check(followed == ["user.deleted", "user.deleted"], "the feed is followed")
check(raised(NotFoundError, lambda: client.get_user(user["id"])).status == 404, "a user is deleted")
check(client.get_health()["status"] == "ok", "the service is well")
client.close()
print("done")
