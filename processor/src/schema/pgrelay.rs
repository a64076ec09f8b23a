//! The package `pgrelay`: the queue itself.

use super::Version;
use super::bundle::{Bundle, Data, GroupRole, scripts};

/// The queue.
pub const PGRELAY: Bundle = Bundle {
    name: "pgrelay",
    schema: "pgrelay",
    comment: "transactional event queue served by pg-relay-processor",
    requires: &[],
    version: Version::new(1, 1),
    roles: &[
        GroupRole::new("pgrelay_admin", &["pgrelay_producer", "pgrelay_monitor"]),
        GroupRole::new("pgrelay_producer", &[]),
        GroupRole::new("pgrelay_processor", &["pgrelay_producer"]),
        GroupRole::new("pgrelay_monitor", &[]),
    ],
    scripts: scripts!(
        "../../sql/pgrelay/",
        [
            "roles.sql",
            "schema.sql",
            "tables/channels.sql",
            "tables/queue.sql",
            "tables/log.sql",
            "tables/crashes.sql",
            "tables/processors.sql",
            "tables/fleet.sql",
            "tables/companions.sql",
            "tables/node.sql",
            "functions/_replace_fleet.sql",
            "functions/version.sql",
            "functions/_oldest_processor.sql",
            "functions/node_name.sql",
            "functions/_space_ids.sql",
            "functions/set_node.sql",
            "functions/_twin_key.sql",
            "functions/_lane.sql",
            "functions/_claim_key.sql",
            "functions/_wake.sql",
            "functions/_channel_for_call.sql",
            "functions/_find_twin.sql",
            "functions/notify.sql",
            "functions/notify_many.sql",
            "functions/_check_channel.sql",
            "functions/register.sql",
            "functions/update.sql",
            "functions/unregister.sql",
            "functions/kill.sql",
            "functions/redrive.sql",
            "functions/stop.sql",
            "functions/pause_for.sql",
            "functions/pause_to.sql",
            "functions/resume.sql",
            "functions/request_reload.sql",
            "functions/set_retention.sql",
            "functions/register_companion.sql",
            "functions/_close_shared.sql",
            "functions/_publish_twin_floor.sql",
            "functions/_prune_queue.sql",
            "functions/_prune_log.sql",
            "functions/_prune_registry.sql",
            "views/channel_status.sql",
            "views/queue_status.sql",
            "views/processor_status.sql",
        ]
    ),
    upgrades: &[],
    data: &[
        Data::all_rows("channels"),
        Data::all_rows("queue"),
        Data::all_rows("queue_id_seq"),
        Data::all_rows("log"),
        Data::all_rows("log_id_seq"),
        Data::all_rows("crashes"),
        // The script has made a row when this one is restored; fleet_replace lets it through.
        Data::all_rows("fleet"),
        // The script of a companion that is an extension makes its row when it is restored.
        Data {
            name: "companions",
            filter: "WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_extension AS e WHERE e.extname = name)",
        },
        Data::all_rows("node"),
    ],
};

#[cfg(test)]
mod tests {
    use super::PGRELAY;
    use crate::schema::Version;
    use crate::schema::bundle::folder;

    #[test]
    fn every_file_of_the_folder_is_installed_exactly_once() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/sql/pgrelay");
        folder::is_installed_whole(&PGRELAY, path);
    }

    #[test]
    fn the_release_is_one_that_this_binary_may_serve() {
        assert!(PGRELAY.version <= Version::OF_THIS_BINARY);
    }
}
