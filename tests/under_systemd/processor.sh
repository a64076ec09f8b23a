# The life of pg-relay-processor.service: readiness, journal, reload, drain, what is restarted and what is not. Sourced by tests/units.

processor=pg-relay-processor

# What became of the last event of a channel.
last_status() { sql "SELECT status FROM pgrelay.queue WHERE channel = '$1' ORDER BY id DESC LIMIT 1"; }

# An event of a new channel with that action; prints its id.
enqueue() {
    sql "SELECT pgrelay.register('$1', \$\$$2\$\$, max_retries := 0)" >/dev/null
    sql "SELECT pgrelay.notify('$1', '')"
}

processor_lives_and_ends_well() {
    start_waits_for_ready
    inside systemctl enable --now --quiet $processor
    expect "the Processor's unit is active" "active running" properties $processor ActiveState SubState
    expect "and tells its status" running property $processor StatusText
    expect_hardened $processor pg-relay
    journal_has_fields_and_levels
    stop_drains
    inside systemctl start $processor
    expect "it runs again" running property $processor StatusText
    sql 'SELECT pgrelay.stop()' >/dev/null
    expect "pgrelay.stop() is meant to last" "inactive dead success 0" properties $processor ActiveState SubState Result NRestarts
}

# The control: were `start` satisfied with a process that runs, this one would do.
start_waits_for_ready() {
    amend $processor UnsetEnvironment=NOTIFY_SOCKET TimeoutStartSec=5s Restart=no
    if inside systemctl start $processor 2>/dev/null; then failed "a start without READY"; fi
    expect "start waits for READY" "timeout 0" properties $processor Result NRestarts
    amend $processor
}

journal_has_fields_and_levels() {
    local id
    set_key LOG_LEVEL debug
    inside systemctl reload $processor
    expect "a reload reads the configuration again" "*configuration read again, LOG_LEVEL is debug*" journal $processor
    id=$(enqueue hello 'SELECT 1')
    expect "an event is done" done last_status hello
    expect "the journal tells its story, as debug" '*"F_VERDICT" : "ok"*' \
        journal $processor --output json-pretty F_EVENT_ID="$id" F_CHANNEL_NAME=hello F_ATTEMPT_NUMBER=1 PRIORITY=7
    set_key LOG_LEVEL info
    inside systemctl reload $processor
    expect "and reads it again" "*configuration read again, LOG_LEVEL is info*" journal $processor
    id=$(enqueue broken 'SELECT 1/0')
    expect "a failed attempt is a warning with its SQLSTATE" "event $id of broken: attempt 1 ended as *" \
        journal $processor F_EVENT_ID="$id" F_DB_SQLSTATE=22012 PRIORITY=4
    expect "what is life-cycle is info" "*works with database \"app\"*" journal $processor PRIORITY=6
    expect "nothing had to go to stderr" "" journal $processor _TRANSPORT=stdout
}

stop_drains() {
    local holder="application_name = 'holder'"
    "$docker" exec --detach --env PGAPPNAME=holder "$container" runuser -u postgres -- \
        psql -qXd app -c 'SELECT pg_advisory_lock(1), pg_sleep(120)'
    expect "a lock is held" 1 sql "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND granted AND objid = 1 AND $holder"
    enqueue held 'SELECT pg_advisory_xact_lock(1)' >/dev/null
    expect "an action waits for it" 1 sql "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = 1"
    inside systemctl stop --no-block $processor
    expect "the Processor drains" draining sql "SELECT state FROM pgrelay.processor_status"
    expect "while the unit waits for it" "deactivating stop-sigterm" properties $processor ActiveState SubState
    sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE $holder" >/dev/null
    expect "and ends with 0 when it has finished" "inactive success 0" properties $processor ActiveState Result ExecMainStatus
    expect "as a drain" "*drained*" journal $processor
    expect "the event is done" done last_status held
}

processor_is_not_restarted_in_vain() {
    inside sed -i 's/^HOST =/HOSTT =/' /etc/pepsi/pepsi.conf
    expect_given_up "a broken configuration (78) is not tried again" $processor 78
    inside sed -i 's/^HOSTT =/HOST =/' /etc/pepsi/pepsi.conf
    set_key DBNAME postgres
    expect_given_up "a database without the schema (76) is not tried again" $processor 76
    set_key DBNAME app
    amend $processor ExecStart= 'ExecStart=/usr/bin/pg-relay-processor --no-such-option run'
    expect_given_up "a wrong command line (64) is not tried again" $processor 64
    amend $processor
}

processor_waits_for_its_database() {
    inside systemctl start $processor
    expect "the Processor runs" running property $processor StatusText
    inside systemctl stop postgresql
    expect "a database that is down is waited for" "active waiting: cannot reach*" properties $processor ActiveState StatusText
    inside systemctl restart $processor
    expect "at the start as well" "active waiting: cannot reach*" properties $processor ActiveState StatusText
    inside systemctl start postgresql
    expect "and served when it is back" "active running 0" properties $processor ActiveState StatusText NRestarts
    enqueue back 'SELECT 1' >/dev/null
    expect "with what was enqueued" done last_status back
}
