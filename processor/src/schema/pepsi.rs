//! The package `pepsi`: the mail pipeline's queue, which pepsi-failure-bouncer serves.
//!
//! An existing PEPSI database has a schema of this name with a table of its own. It is never touched: without our `version()` it
//! counts as somebody else's, and installing is refused.

use super::Version;
use super::bundle::{Bundle, Data, GroupRole, scripts};

/// The mail pipeline's queue.
pub const PEPSI: Bundle = Bundle {
    name: "pepsi",
    schema: "pepsi",
    comment: "queue of the PEPSI mail pipeline, watched by pepsi-failure-bouncer",
    requires: &[],
    version: Version::new(1, 1),
    roles: &[GroupRole::login("pepsi")],
    scripts: scripts!(
        "../../../bouncer/sql/pepsi/",
        [
            "roles.sql",
            "schema.sql",
            "tables/ingress.sql",
            "tables/ingress_trail.sql",
            "functions/version.sql",
            "functions/_ingress_touch.sql",
            "functions/_ingress_trail.sql",
            "functions/_ingress_failed.sql",
        ]
    ),
    upgrades: &[],
    data: &[
        Data::all_rows("ingress"),
        Data::all_rows("ingress_id_seq"),
        Data::all_rows("ingress_trail"),
        Data::all_rows("ingress_trail_id_seq"),
    ],
};

#[cfg(test)]
mod tests {
    use super::PEPSI;
    use crate::schema::Version;
    use crate::schema::bundle::folder;

    #[test]
    fn every_file_of_the_folder_is_installed_exactly_once() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../bouncer/sql/pepsi");
        folder::is_installed_whole(&PEPSI, path);
    }

    #[test]
    fn the_version_is_the_one_the_schema_tells() {
        let version = PEPSI
            .scripts
            .iter()
            .find(|script| script.path == "functions/version.sql")
            .unwrap();
        assert!(version.sql.contains(&format!("'{}'", PEPSI.version)));
        assert!(PEPSI.version <= Version::OF_THIS_BINARY);
    }
}
