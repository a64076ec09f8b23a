# README, "Installing it" and "The failure bouncer", step by step. Sourced by tests/units.

install_as_readme_says() {
    expect "PostgreSQL answers" 1 inside runuser -u postgres -- psql -tAXc 'SELECT 1'
    inside runuser -u postgres -- createdb app
    place 755 /usr/bin/ "$binaries/pg-relay-processor" "$binaries/pepsi-failure-bouncer"
    inside mkdir -p /etc/pepsi
    place 644 /etc/pepsi/ conf/pepsi.conf
    set_key HOST /var/run/postgresql
    set_key DBNAME app
    inside runuser -u postgres -- pg-relay-processor --database postgres://postgres@%2Fvar%2Frun%2Fpostgresql/app \
        install --with notifier --with pepsi >/dev/null
    shell 'useradd --system pg-relay && useradd --system pepsi'
    sql 'CREATE ROLE "pg-relay" LOGIN IN ROLE pgrelay_processor'
    expect "check finds the Processor ready" "*ready*" inside runuser -u pg-relay -- pg-relay-processor check
    place 600 /etc/pepsi/ conf/secrets.env
    place 644 /etc/systemd/system/ systemd/*.service systemd/*.timer
    inside systemctl daemon-reload
}

# Files of this machine, as root's in a directory of the container.
place() {
    local mode=$1 directory=$2 file
    shift 2
    for file in "$@"; do
        "$docker" cp "$file" "$container:$directory" >/dev/null
        inside chown root:root "$directory${file##*/}"
        inside chmod "$mode" "$directory${file##*/}"
    done
}

# Lines for the unit beside its own file, as `systemctl edit` leaves them; without an argument none.
amend() {
    local directory=/etc/systemd/system/$1.service.d
    if [ $# -eq 1 ]; then
        inside rm -f "$directory/amended.conf"
    else
        inside mkdir -p "$directory"
        printf '%s\n' '[Service]' "${@:2}" | write "$directory/amended.conf"
    fi
    inside systemctl daemon-reload
}

# Broken on purpose: it ends with the exit code, and the unit does not wait for another start, which would be `activating`.
expect_given_up() {
    local what=$1 unit=$2 code=$3
    inside systemctl restart "$unit" 2>/dev/null || true
    expect "$what" "$code failed 0" properties "$unit" ExecMainStatus ActiveState NRestarts
    inside systemctl reset-failed "$unit"
}

# What the unit says of files, privileges and system calls holds for the running process: without that, the rest shows nothing.
expect_hardened() {
    local unit=$1 account=$2 id
    id=$(inside id -u "$account")
    expect "$unit runs as $account alone" "*Uid:	$id	$id	$id	$id
*" process_status "$unit"
    expect "without a capability" "*CapPrm:	0000000000000000
CapEff:	0000000000000000
*CapAmb:	0000000000000000
*" process_status "$unit"
    expect "with no new privileges, behind a filter of system calls" "*NoNewPrivs:	1
Seccomp:	2
*" process_status "$unit"
    expect "its files are read-only, and homes out of sight" "*/etc/x': Read-only file system*/root/x*" \
        shell "nsenter --mount --target \$(systemctl show --property MainPID --value $unit) -- touch /etc/x /root/x"
}
