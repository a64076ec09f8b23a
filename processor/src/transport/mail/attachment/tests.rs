use super::super::tests::{problem, read};
use serde_json::json;

#[test]
fn an_attachment_is_decoded_whatever_breaks_its_lines() {
    let mail = read(&json!({
        "to": "a@example.org",
        "attachments": [
            {"filename": "a.bin", "content_base64": "AAEC\nAwQF\r\n", "content_id": "pic@1"},
            {"filename": "ü, \"x\".txt", "content_type": "text/plain; charset=utf-8", "content_base64": ""},
        ],
    }))
    .unwrap();
    assert_eq!(mail.attachments[0].content, [0, 1, 2, 3, 4, 5]);
    assert_eq!(mail.attachments[0].content_type, "application/octet-stream");
    assert_eq!(mail.attachments[0].content_id.as_deref(), Some("pic@1"));
    assert!(mail.attachments[1].content.is_empty());
    assert_eq!(
        mail.attachments[1].content_type,
        "text/plain; charset=utf-8"
    );
    assert_eq!(mail.content_bytes(), 6);
}

#[test]
fn malformed_attachments_are_refused_by_place() {
    let with = |key: &str, value: serde_json::Value| {
        let mut attachment = json!({"filename": "a", "content_base64": "YQ=="});
        attachment[key] = value;
        problem("attachments", json!([attachment]))
    };
    for name in ["", ".", "..", "a/b", "..\\b", "a\r\nb", "a\0b"] {
        let problem = with("filename", json!(name));
        assert!(problem.contains("attachments[0].filename"), "{problem}");
    }
    for base64 in ["YQ", "YQ=", "Y===", "YR==", "Y Q = = x", "ä", "YQ==YQ=="] {
        let problem = with("content_base64", json!(base64));
        let expected = "message key attachments[0].content_base64: expected base64 with its padding (RFC 4648, 4)";
        assert_eq!(problem, expected, "content is not quoted");
    }
    for id in ["", "<a>", "a b", "ä", "a\"b"] {
        let problem = with("content_id", json!(id));
        assert!(problem.contains("attachments[0].content_id"), "{problem}");
    }
    assert!(
        problem("attachments", json!([{"filename": "a"}])).contains("content_base64: is required")
    );
    assert!(problem("attachments", json!({"filename": "a"})).contains("expected an array"));
    let many = vec![json!({"filename": "a", "content_base64": "YQ=="}); 101];
    assert!(problem("attachments", json!(many)).contains("at most 100"));
}

#[test]
fn media_types_are_checked_with_their_parameters() {
    for good in [
        "text/plain",
        "image/svg+xml",
        "text/csv; charset=utf-8 ;header=present",
        "a/b;name=\"x; y=z\"",
    ] {
        assert!(super::is_media_type(good), "{good}");
    }
    for bad in [
        "",
        "text",
        "text/",
        "/plain",
        "text/plain;",
        "text/plain; charset",
        "text/plain; =x",
        "text/plain x=y",
        "text/plain; a=\"",
        "text/plain; a=\"x\"y",
        "text/plain; a=\"\\\"\"",
        "a b/c",
        "text/plain\r\nX: y",
        "tëxt/plain",
    ] {
        assert!(!super::is_media_type(bad), "{bad:?}");
    }
    for kind in ["message/rfc822", "MULTIPART/mixed; boundary=x"] {
        let attachment = json!([{"filename": "a", "content_base64": "YQ==", "content_type": kind}]);
        assert!(problem("attachments", attachment).contains("not multipart/* and message/*"));
    }
}
