//! Fleet tests: the real binaries on real servers, one behaviour per file. One executable, so that it is linked once.

mod a_redriven_event_runs_again;
mod actions_that_cannot_run_end_in_error;
mod bad_input_is_answered_clearly;
mod check_names_what_is_missing;
mod check_refuses_a_transaction_pooler;
mod error_texts_are_stored_whatever_they_hold;
mod events_without_a_usable_channel_are_invalid;
mod extension_survives_dump_and_restore;
mod harness_serves_a_database;
mod install_is_idempotent;
mod mistakes_of_callers_raise_our_own_sqlstates;
mod only_class_40_is_retried;
mod payloads_arrive_whole;
mod registry_changes_bind_at_the_next_claim;
mod retries_follow_the_schedule;
mod servers_of_every_version_start;
mod status_shows_the_queue;
mod steps;
mod testcontainers_path;
mod unwanted_events_expire;
