//! The package `pg_auto_mv`: materialised views kept fresh, a client of the queue.

use super::Version;
use super::bundle::{Bundle, Data, GroupRole, scripts};

/// Materialised views, refreshed when their sources change or by the clock.
pub const AUTO_MV: Bundle = Bundle {
    name: "pg_auto_mv",
    schema: "pgauto_mv",
    comment: "materialised views kept fresh from changes and schedules, on pgrelay",
    requires: &["pgrelay"],
    version: Version::new(1, 0),
    roles: &[
        GroupRole::new("pgauto_mv_admin", &["pgauto_mv_monitor"]),
        GroupRole::new("pgauto_mv_monitor", &[]),
    ],
    scripts: scripts!(
        "../../sql/pgauto_mv/",
        [
            "roles.sql",
            "schema.sql",
            "schedules/tables/cron_fields.sql",
            "schedules/tables/schedules.sql",
            "tables/materialised_views.sql",
            "tables/mv_state.sql",
            "tables/mv_sources.sql",
            "tables/mv_chain.sql",
            "tables/mv_events.sql",
            "tables/mv_truncate_signals.sql",
            "tables/mv_sync_requests.sql",
            "tables/mv_refresh_log.sql",
            "functions/version.sql",
            "functions/_oldest_processor.sql",
            "functions/_database_identity.sql",
            "functions/_lock_key.sql",
            "functions/_refresh_in_progress.sql",
            "views/mv_state_v.sql",
            "functions/_mv_for_call.sql",
            "functions/_send.sql",
            "functions/_signal_truncate.sql",
            "functions/_keep_event.sql",
            "functions/_announce_change.sql",
            "functions/_source_changed.sql",
            "schedules/functions/_refuse_cron.sql",
            "schedules/functions/_parse_cron_value.sql",
            "schedules/functions/_parse_cron_part.sql",
            "schedules/functions/_parse_cron_field.sql",
            "schedules/functions/_parse_cron.sql",
            "schedules/functions/_next_day.sql",
            "schedules/functions/_next_match.sql",
            "schedules/functions/_utc_offset.sql",
            "schedules/functions/_offset_change.sql",
            "schedules/functions/_next_cron_slot.sql",
            "schedules/functions/_next_slot.sql",
            "functions/_leave.sql",
            "functions/_queue_slot.sql",
            "functions/_advance_schedule.sql",
            "functions/_partitions.sql",
            "functions/_expected_triggers.sql",
            "functions/_present_triggers.sql",
            "functions/_sync_triggers.sql",
            "functions/_watch_partitions.sql",
            "functions/_thin_events.sql",
            "functions/_log_skip.sql",
            "functions/_begin_flight.sql",
            "functions/_skip_reason.sql",
            "functions/_skip.sql",
            "functions/_waits_for_ancestor.sql",
            "functions/_bind.sql",
            "functions/_no_concurrent_reason.sql",
            "functions/_refresh.sql",
            "functions/_log_attempt.sql",
            "functions/_succeeded.sql",
            "functions/_failed.sql",
            "functions/_send_children.sql",
            "functions/_attempt.sql",
            "functions/_dispatch.sql",
            "functions/_record_breakdown.sql",
            "functions/_process_pending.sql",
            "functions/_sync_mv.sql",
            "functions/_on_sync_request.sql",
            "functions/_ensure_channels.sql",
            "functions/_may_maintain.sql",
            "functions/_check_setting.sql",
            "functions/_refuse_registered.sql",
            "functions/_link.sql",
            "functions/_derive_sources.sql",
            "functions/_refuse_source.sql",
            "functions/_follow_parent.sql",
            "functions/_set_sources.sql",
            "functions/_follow_sources.sql",
            "functions/register.sql",
            "functions/update.sql",
            "functions/_forget.sql",
            "functions/unregister.sql",
            "functions/unregister_missing.sql",
            "functions/refresh.sql",
            "functions/chain.sql",
            "functions/unchain.sql",
            "functions/resume.sql",
            "functions/_reconcile_one.sql",
            "functions/reconcile.sql",
            "schedules/functions/_zone.sql",
            "schedules/functions/_check_schedule.sql",
            "schedules/functions/_schedule_by_name.sql",
            "schedules/functions/_slot_note.sql",
            "schedules/functions/_start_schedule.sql",
            "schedules/functions/create_schedule.sql",
            "schedules/functions/preview.sql",
            "schedules/functions/update_schedule.sql",
            "schedules/functions/drop_schedule.sql",
            "schedules/functions/assign_schedule.sql",
            "schedules/functions/unassign_schedule.sql",
            "views/health.sql",
            "companion.sql",
        ]
    ),
    upgrades: &[],
    data: &[
        Data::all_rows("schedules"),
        Data::all_rows("materialised_views"),
        Data::all_rows("mv_sources"),
        Data::all_rows("mv_chain"),
        Data::all_rows("mv_state"),
        Data::all_rows("mv_events"),
        Data::all_rows("mv_events_event_id_seq"),
        Data::all_rows("mv_truncate_signals"),
        Data::all_rows("mv_truncate_signals_signal_id_seq"),
        Data::all_rows("mv_refresh_log"),
        Data::all_rows("mv_refresh_log_log_id_seq"),
        // Not mv_sync_requests: its trigger would queue the refreshes of the past again.
    ],
};

#[cfg(test)]
mod tests {
    use super::AUTO_MV;
    use crate::schema::Version;
    use crate::schema::bundle::folder;

    #[test]
    fn every_file_of_the_folder_is_installed_exactly_once() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/sql/pgauto_mv");
        folder::is_installed_whole(&AUTO_MV, path);
    }

    #[test]
    fn the_release_is_one_that_this_binary_may_serve() {
        assert!(AUTO_MV.version <= Version::OF_THIS_BINARY);
    }
}
