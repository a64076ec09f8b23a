# pepsi-failure-bouncer.service, which starts as root, and the timer's sweep. Sourced by tests/units.

bouncer=pepsi-failure-bouncer

insert_message() { sql "INSERT INTO pepsi.ingress (sender, recipients, message, status, stage) VALUES ('a@example.org', '[]', 'x', '$1', 'relay')"; }

# A message that ends with the status is handed to the stage that bounces; the table is empty again afterwards.
expect_bounced() {
    insert_message running
    sql "UPDATE pepsi.ingress SET status = '$2'"
    expect "$1" "bounce|pending" sql "SELECT stage, status FROM pepsi.ingress"
    sql "DELETE FROM pepsi.ingress"
}

bouncer_refuses_what_no_restart_cures() {
    expect_given_up "a configuration without BOUNCE_STAGE (78) is not tried again" $bouncer 78
    set_key BOUNCE_STAGE bounce
    amend $bouncer CapabilityBoundingSet=
    expect_given_up "privileges that cannot be dropped (77) are not tried again" $bouncer 77
    amend $bouncer
    set_key DBNAME postgres
    expect_given_up "a database without the table (76) is not tried again" $bouncer 76
    set_key DBNAME app
}

bouncer_works_without_privileges() {
    inside systemctl enable --now --quiet $bouncer
    expect "the bouncer's unit is active" "active running" properties $bouncer ActiveState SubState
    expect "as pepsi it listens" "*listening on database \"app\"*" journal $bouncer
    expect_hardened $bouncer pepsi
    expect_bounced "a message that fails is bounced" failed
    expect "and counted in the status" "1 messages bounced since the start" property $bouncer StatusText
    inside systemctl reload $bouncer
    expect "a reload reads the configuration again" "*configuration read again, LOG_LEVEL is info*" journal $bouncer
    inside systemctl stop $bouncer
    expect "a stop ends with 0" "inactive success 0" properties $bouncer ActiveState Result ExecMainStatus
}

bouncer_sweeps_once() {
    insert_message timeout
    inside systemctl start $bouncer-once
    expect "a sweep of the timer bounces" "*bounced 1 (failed 0, timeout 1)*" journal $bouncer-once
    expect "and ends with 0" "inactive success 0" properties $bouncer-once ActiveState Result ExecMainStatus
    sql "DELETE FROM pepsi.ingress"
    inside systemctl start $bouncer-once.timer
    expect "the timer waits for the next five minutes" "active waiting *" properties $bouncer-once.timer ActiveState SubState NextElapseUSecRealtime
    inside systemctl stop $bouncer-once.timer
}

# The variant of user.conf.example, as its comment says.
bouncer_as_its_account_from_the_start() {
    inside mkdir -p /etc/systemd/system/$bouncer.service.d
    write /etc/systemd/system/$bouncer.service.d/user.conf <systemd/$bouncer.service.d/user.conf.example
    shell 'chgrp pepsi /etc/pepsi/pepsi.conf && chmod 0640 /etc/pepsi/pepsi.conf && systemctl daemon-reload'
    inside systemctl restart $bouncer
    expect_hardened $bouncer pepsi
    expect_bounced "a bouncer that never was root bounces" failed
    inside systemctl reload $bouncer
    expect "reads its configuration again" "configuration read again, LOG_LEVEL is info" \
        journal $bouncer _SYSTEMD_INVOCATION_ID="$(property $bouncer InvocationID)" --grep 'read again'
    inside systemctl stop $bouncer
    expect "and ends well" "inactive success 0" properties $bouncer ActiveState Result ExecMainStatus
}
