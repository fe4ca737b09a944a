"""Mails from real programs and from hostile ones: read, cut or refused, and nothing else."""

from __future__ import annotations

import encodings
import json
import time
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from picloud.errors import InvalidInput
from picloud.mail_event import encode_mail
from picloud.mail_parsing import MAX_DEPTH, MAX_HEADER_CHARS, MAX_PARTS, Mail, parse_mail
from picloud.payload import decode_payload

MIXED = b"""\
From: =?utf-8?q?J=C3=BCrgen?= <juergen@example.org>\r
To: "Shop, Orders" <orders@shop>, help@shop\r
Subject: =?iso-8859-1?q?Caf=E9?= au\r
 lait\r
Message-ID: <1@example.org>\r
Received: from a\r
Received: from b\r
Content-Type: multipart/mixed; boundary=outer\r
\r
--outer\r
Content-Type: multipart/alternative; boundary=inner\r
\r
--inner\r
Content-Type: text/plain; charset=iso-8859-1\r
Content-Transfer-Encoding: quoted-printable\r
\r
Gr=FC=DFe\r
--inner\r
Content-Type: text/html; charset=utf-8\r
\r
<p>Gr\xc3\xbc\xc3\x9fe</p>\r
--inner--\r
--outer\r
Content-Type: image/png; name=x.png\r
Content-Disposition: attachment; filename*=utf-8''%C3%A4.png\r
Content-Transfer-Encoding: base64\r
\r
AQID\r
--outer\r
Content-Type: message/rfc822\r
\r
Subject: inner\r
\r
forwarded\r
--outer\r
Content-Type: text/plain\r
\r
a footer\r
--outer--\r
"""


def test_a_mail_of_many_parts_is_read() -> None:
    mail = parse_mail(MIXED)
    assert mail.sender == "juergen@example.org"
    assert mail.to == ("orders@shop", "help@shop")
    assert mail.subject == "Café au lait"
    assert mail.message_id == "<1@example.org>"
    assert mail.headers["from"] == "Jürgen <juergen@example.org>"
    assert mail.headers["received"] == "from a\nfrom b"
    assert (mail.text, mail.html) == ("Grüße", "<p>Grüße</p>")
    picture, inner, footer = mail.parts
    assert (picture.name, picture.type, picture.data) == ("ä.png", "image/png", b"\1\2\3")
    assert (inner.name, inner.type) == (None, "message/rfc822")
    assert inner.data.replace(b"\r\n", b"\n") == b"Subject: inner\n\nforwarded"
    assert (footer.type, footer.data) == ("text/plain", b"a footer")
    assert not mail.is_cut


def test_a_text_file_is_a_file_and_its_path_is_dropped() -> None:
    message = EmailMessage()
    message.set_content("hello")
    message.add_attachment("a,b", subtype="csv", filename=r"C:\tmp\..\list.csv")
    mail = parse_mail(message.as_bytes())
    assert mail.text == "hello\n"
    assert [(part.name, part.type) for part in mail.parts] == [("list.csv", "text/csv")]


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        (b"Content-Type: text/plain; charset=nonsense", "ä".encode(), "ä"),
        (b"Content-Type: text/plain; charset=idna", b"xn--a", "xn--a"),
        (b"Content-Type: text/plain; charset=rot13", b"abc", "abc"),
        (b"Content-Type: text/plain; charset=utf-8", b"\xff\xfe", "\ufffd\ufffd"),
        (b"Content-Type: text/plain; charset=utf-7", b"+2AA-", "\ufffd"),
        (b"Content-Type: text/plain; charset=utf-16", "\ud83d\ude00".encode("utf-16", "surrogatepass"), "😀"),
        (b"X: y", b"caf\xe9", "café"),
        (b"X: y", b"a\0b", "a\ufffdb"),
        (b"Content-Transfer-Encoding: base64", b"aGk=!!!\n=", "hi"),
        (b"Content-Transfer-Encoding: base64", b"a", "a"),
        (b"Content-Transfer-Encoding: nonsense", b"hi", "hi"),
        (b"Content-Transfer-Encoding: x-uuencode", b"begin 644 x\n#86)C\n`\nend\n", "abc"),
        (b"Content-Type: " + b"(" * 5000, b"hi", "hi"),
        (b"Content-Type: multipart/mixed", b"hi", "hi"),
    ],
)
def test_a_broken_body_is_still_text(headers: bytes, body: bytes, text: str) -> None:
    mail = parse_mail(headers + b"\n\n" + body)
    assert mail.text == text


def test_an_encoded_line_break_makes_no_second_header() -> None:
    mail = parse_mail(
        b"Subject: =?utf-8?q?a=0D=0ABcc:_b?=\r\nFrom: =?utf-8?q?x=0A?= <a@b>\r\n"
        b'Content-Disposition: attachment; filename="=?utf-8?q?a=0Ab?="\r\n\r\n'
    )
    assert mail.subject == "a Bcc: b"
    for value in (mail.sender, mail.headers["from"], mail.parts[0].name or ""):
        assert value.isprintable()


def test_characters_that_are_no_text_are_replaced() -> None:
    mail = parse_mail("Subject: Grüße\r\nTo: \ud800\r\nX: a\0b\r\n\r\n".encode("utf-8", "surrogatepass"))
    assert mail.subject == "Grüße"
    assert "\0" not in mail.headers["x"]
    mail.headers["to"].encode()


def test_unknown_character_sets_are_never_looked_up() -> None:
    before = len(encodings._cache)  # type: ignore[attr-defined]
    for at in range(50):
        name = f"nonsense-{at}".encode()
        parse_mail(
            b"Subject: =?" + name + b"?q?a?= =?" + name + b"*en?b?YQ==?=\r\n"
            b"Content-Type: text/plain; charset=" + name + b"; name*0*=" + name + b"''a; x*=" + name + b"'en'b\r\n"
            b'Content-Disposition: inline; filename*="' + name + b"'en'b\"\r\n\r\nhi"
        )
    assert len(encodings._cache) <= before + 2  # type: ignore[attr-defined]


def nested(levels: int) -> bytes:
    return b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (at, at) for at in range(levels))


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (nested(MAX_DEPTH + 1), "deeper than 50 levels"),
        (nested(MAX_PARTS + 1), "more than 500 parts"),
        (b"Content-Type: message/rfc822\r\n\r\n" * (MAX_DEPTH + 1), "deeper than 50 levels"),
        (b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\nx\r\n" * 1000, "more than 500 parts"),
        (b"Content-Type: message/delivery-status\r\n\r\n" + b"a: b\r\n\r\n" * 1000, "more than 500 parts"),
        (b"a: b\r\n" * 10_001, "more than 10000 headers"),
        (b"Subject: x\r\n\r\n" + b"\r\n" * 200_000, "200,002 lines in 400,014 bytes"),
        (b"Subject: x\r\n\r\n" + b"\r" * 200_000, "200,002 lines"),
    ],
)
def test_what_costs_too_much_is_refused(raw: bytes, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        parse_mail(raw)


def test_what_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("picloud.mail_parsing.CPU_SECS", 0.2)
    slow = (b"To: " + b'"' * 4000 + b"\r\n") * 400
    began = time.thread_time()
    with pytest.raises(InvalidInput, match=r"took more than 0\.2 s"):
        parse_mail(slow + b"\r\nhi")
    assert time.thread_time() - began < 3


def test_a_header_without_end_is_cut() -> None:
    mail = parse_mail(b"To: " + b"a@b.example, " * 10_000 + b"\r\nSubject: x\r\n\r\nhi")
    assert mail.is_cut
    assert len(mail.headers["to"]) <= MAX_HEADER_CHARS
    assert (mail.subject, mail.text) == ("x", "hi")


def event_of(mail: Mail, max_bytes: int = 1024 * 1024) -> dict[str, object]:
    text = encode_mail(mail, envelope_from="bounce@example.org", max_bytes=max_bytes)
    assert len(text.encode()) <= max_bytes
    event: dict[str, object] = decode_payload(text, max_bytes=max_bytes)
    return event


HEADERS = st.sampled_from(
    [b"From", b"To", b"Subject", b"Content-Type", b"Content-Disposition", b"Content-Transfer-Encoding", b"Date", b"X"]
)
SHREDS = st.sampled_from(
    [
        *b"--b --b-- ;boundary=b multipart/mixed message/rfc822 text/html ( ) < > @ , : ; % a = ' \"".split(),
        *b"=?utf-8?b? =?utf-7?q? ?= *0*= '' base64 quoted-printable ;charset=utf-16 ;filename= [ \0 \xff".split(),
        *(b"\r\n", b"\n", b"\r", b" ", b"\t", b"\\", b"\xed\xa0\x80"),
    ]
)
SHREDDED = st.lists(SHREDS, max_size=30).map(b"".join)
HOSTILE = st.lists(
    st.one_of(
        st.builds(
            lambda name, value: name + b": " + value + b"\r\n", HEADERS, st.one_of(SHREDDED, st.binary(max_size=60))
        ),
        st.just(b"\r\n"),
        st.just(b"--b\r\n"),
        st.binary(max_size=60),
        SHREDDED,
    ),
    max_size=25,
).map(b"".join)


@settings(max_examples=300, deadline=None)
@given(HOSTILE)
def test_any_bytes_become_an_event_that_postgresql_carries(raw: bytes) -> None:
    try:
        mail = parse_mail(raw)
    except InvalidInput as error:
        pytest.fail(f"refused {raw!r}: {error.__cause__!r}")
    event_of(mail)


@settings(max_examples=100, deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=200),
    st.lists(st.binary(max_size=3000), max_size=4),
    st.integers(min_value=1200, max_value=8000),
)
def test_an_event_fits_whatever_the_limit_and_tells_what_it_lacks(text: str, files: list[bytes], limit: int) -> None:
    message = EmailMessage()
    message["Subject"] = "s"
    message.set_content(text)
    for at, data in enumerate(files):
        message.add_attachment(data, maintype="application", subtype="x", filename=f"{at}.bin")
    event = event_of(parse_mail(message.as_bytes()), limit)
    attachments = event["attachments"]
    assert isinstance(attachments, list)
    assert [one["size"] for one in attachments] == [len(data) for data in files]
    dropped = [one["size"] for one in attachments if one["truncated"]]
    kept = [one["size"] for one in attachments if not one["truncated"]]
    assert not dropped or not kept or max(kept) <= min(dropped)
    whole = not dropped and event["text"] == text + "\n"
    assert event["truncated"] is (not whole) or "".join(text.splitlines()) != text


def test_a_mail_without_a_sender_has_that_of_its_envelope() -> None:
    assert event_of(parse_mail(b"Subject: x\r\n\r\nhi"))["from"] == "bounce@example.org"


def test_a_long_text_is_cut_to_what_fits() -> None:
    event = event_of(parse_mail(b"Subject: x\r\n\r\n" + "ä\x01".encode() * 5000), 4000)
    assert event["truncated"]
    text = event["text"]
    assert isinstance(text, str)
    assert 3000 < len(json.dumps(text, ensure_ascii=False).encode()) < 4000
