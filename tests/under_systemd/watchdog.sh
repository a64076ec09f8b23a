# WatchdogSec= of both services, side by side: half a minute passes once for what lives and once for what hangs. Sourced by tests/units.

# Whether the unit has been up for five seconds longer than the watchdog would have let it, had nobody fed it.
outlived_its_watchdog() {
    local since limit now
    since=$(property "$1" ActiveEnterTimestampMonotonic)
    limit=$(property "$1" WatchdogUSec)
    now=$(shell "cut -d. -f1 /proc/uptime")
    if [ $((now - since / 1000000)) -ge $((${limit%s} + 5)) ]; then echo yes; else echo "since $since us, now $now s, limit $limit"; fi
}

watchdog_restarts_only_what_hangs() {
    local unit processor_pid bouncer_pid
    inside systemctl restart $processor $bouncer
    processor_pid=$(main_pid $processor)
    bouncer_pid=$(main_pid $bouncer)
    for unit in $processor $bouncer; do
        expect "$unit lives longer than WatchdogSec" yes outlived_its_watchdog $unit
    done
    expect "as the same process" "active $processor_pid 0" properties $processor ActiveState MainPID NRestarts
    expect "as the same process" "active $bouncer_pid 0" properties $bouncer ActiveState MainPID NRestarts
    shell "kill -STOP $processor_pid $bouncer_pid"
    for unit in $processor $bouncer; do
        PATIENCE=90 expect "$unit hangs and is restarted" "active 1" properties $unit ActiveState NRestarts
        expect "by the watchdog" "*Watchdog timeout*result 'watchdog'*" journal $unit
    done
    expect "the new Processor runs" running property $processor StatusText
    expect_bounced "the new bouncer bounces" failed
}
