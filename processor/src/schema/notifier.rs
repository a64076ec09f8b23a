//! The package `pg_relay_notifier`: mail and webhooks from SQL.

use super::Version;
use super::bundle::{Bundle, Data, GroupRole, scripts};

/// The notifier. Its name is the one it announces itself by in `pgrelay.companions`.
pub const NOTIFIER: Bundle = Bundle {
    name: "pg_relay_notifier",
    schema: "pgrelay_notifier",
    comment: "mail and webhooks sent from SQL, delivered by pg-relay-processor",
    requires: &["pgrelay"],
    version: Version::new(1, 0),
    roles: &[
        GroupRole::new(
            "pgrelay_notifier_admin",
            &["pgrelay_notifier_sender", "pgrelay_notifier_monitor"],
        ),
        GroupRole::new("pgrelay_notifier_sender", &[]),
        GroupRole::new("pgrelay_notifier_monitor", &[]),
    ],
    scripts: scripts!(
        "../../../notifier-sql/sql/",
        [
            "roles.sql",
            "schema.sql",
            "tables/profiles.sql",
            "tables/notifications.sql",
            "tables/attempts.sql",
            "tables/debug_steps.sql",
            "functions/version.sql",
            "functions/_oldest_processor.sql",
            "functions/interface_version.sql",
            "functions/fetch.sql",
            "functions/set_status.sql",
            "functions/debug_log.sql",
            "functions/_refuse.sql",
            "functions/_refuse_key.sql",
            "functions/_check_isolation.sql",
            "functions/_fields.sql",
            "functions/_has_control.sql",
            "functions/_is_reference.sql",
            "functions/_is_domain.sql",
            "functions/_address_family.sql",
            "functions/_is_host.sql",
            "functions/_is_authority.sql",
            "functions/_address_problem.sql",
            "functions/_is_header_name.sql",
            "functions/_judge_text.sql",
            "functions/_check_address.sql",
            "functions/_check_base64.sql",
            "functions/_check_string.sql",
            "functions/_check_integer.sql",
            "functions/_check_list.sql",
            "functions/_check_headers.sql",
            "functions/_check_attachments.sql",
            "functions/_check_field.sql",
            "functions/_check_fields.sql",
            "functions/_check_nesting.sql",
            "functions/_check_profile.sql",
            "functions/_content_bytes.sql",
            "functions/_max_message_bytes.sql",
            "functions/_check_together.sql",
            "functions/_check_message.sql",
            "functions/_message_domain.sql",
            "functions/_check_channel.sql",
            "functions/_use_channel.sql",
            "functions/_check_transport.sql",
            "functions/_recipients.sql",
            "functions/_own.sql",
            "functions/_pending_event.sql",
            "functions/_send.sql",
            "functions/create_profile.sql",
            "functions/update_profile.sql",
            "functions/drop_profile.sql",
            "functions/send.sql",
            "functions/send_mail.sql",
            "functions/send_mail_to_many.sql",
            "functions/send_webhook.sql",
            "functions/resend.sql",
            "functions/_known_end.sql",
            "functions/cancel.sql",
            "functions/purge.sql",
            "views/notification_status.sql",
            "views/attempt_status.sql",
            "views/debug_trace.sql",
            "views/profile_status.sql",
            "register.sql",
        ]
    ),
    upgrades: &[],
    data: &[
        Data::all_rows("profiles"),
        Data::all_rows("notifications"),
        Data::all_rows("notifications_id_seq"),
        Data::all_rows("attempts"),
        Data::all_rows("attempts_id_seq"),
        Data::all_rows("debug_steps"),
        Data::all_rows("debug_steps_id_seq"),
    ],
};

#[cfg(test)]
mod tests {
    use super::NOTIFIER;
    use crate::schema::Version;
    use crate::schema::bundle::folder;

    #[test]
    fn every_file_of_the_folder_is_installed_exactly_once() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../notifier-sql/sql");
        folder::is_installed_whole(&NOTIFIER, path);
    }

    #[test]
    fn the_release_is_one_that_this_binary_may_serve() {
        assert!(NOTIFIER.version <= Version::OF_THIS_BINARY);
    }
}
