# The container in which systemd is process 1, and how its answers are waited for. Sourced by tests/units.

docker=/usr/bin/docker
[ -x "$docker" ] || docker=docker
binaries=${PGRELAY_BIN_DIR:-target/debug}
# procps is left out on purpose: units must not need more than a minimal system has.
packages=systemd-sysv,dbus,postgresql,ca-certificates,openssl,nginx,dnsmasq-base
# Other packages make another image.
image=pgrelay-systemd:$(cksum <<<"$packages" | cut -d' ' -f1)

skip() {
    case ,${PGRELAY_REQUIRE:-}, in *,containers,*)
        echo "FAILED: tests/units is required (containers) and cannot run: $*" >&2
        exit 1 ;;
    esac
    echo "SKIPPED: units under systemd (containers): $*" | tee -a "${PGRELAY_SKIP_LOG:-/dev/null}"
    exit 0
}

require_engine() {
    "$docker" version >/dev/null 2>&1 || skip "no Docker engine answers"
    "$docker" image inspect "$image" >/dev/null 2>&1 && return
    [ "$(id -u)" -eq 0 ] || skip "debootstrap needs root"
    command -v debootstrap >/dev/null || skip "debootstrap is not installed"
    make_image
}

# In a shell of its own, whose end removes the directory whatever happens.
make_image() (
    root=$(mktemp -d "${TMPDIR:-/tmp}/pgrelay-systemd-XXXXXX")
    # --one-file-system: should a mount have been left inside, what is mounted stays.
    trap 'umount "$root/proc" "$root/sys" 2>/dev/null || true; rm -rf --one-file-system "$root" "$root.log"' EXIT
    # Accounts other than root live below it: the cluster of PostgreSQL is made while the package is set up.
    chmod 755 "$root"
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    debootstrap --variant=minbase --include="$packages" "$suite" "$root" >"$root.log" 2>&1 || {
        tail -n 20 "$root.log" >&2
        exit 1
    }
    rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}
    tar -C "$root" --one-file-system -c . | "$docker" import - "$image" >/dev/null
)

# SYS_ADMIN: systemd mounts. DAC_READ_SEARCH: the bouncer's unit keeps it. SYS_PTRACE: the test looks into the services' namespaces.
# systemd expects mounts to be shared, and hands over credentials by one; Docker makes them private.
start_container() {
    container=$("$docker" run --detach --network none --cap-add SYS_ADMIN --cap-add DAC_READ_SEARCH --cap-add SYS_PTRACE \
        --security-opt seccomp=unconfined --cgroupns=host --tmpfs /run --tmpfs /run/lock --tmpfs /tmp \
        -v /sys/fs/cgroup:/sys/fs/cgroup:rw "$image" sh -c 'mount --make-rshared / && exec /sbin/init')
    trap '"$docker" rm --force "$container" >/dev/null' EXIT
    trap 'exit 130' INT TERM
    expect "systemd runs" running inside systemctl is-system-running
}

inside() { "$docker" exec "$container" "$@"; }
# A line of shell inside.
shell() { inside sh -c "$1"; }
# Standard input becomes the file inside.
write() { "$docker" exec --interactive "$container" sh -c "cat >'$1'"; }
sql() { inside runuser -u postgres -- psql -qtAXd app -c "$1"; }
property() { inside systemctl show --property "$2" --value "$1"; }
# Several of them, in the order asked for.
properties() {
    local unit=$1 name
    shift
    for name in "$@"; do property "$unit" "$name"; done | xargs
}
main_pid() { property "$1" MainPID; }
process_status() { inside cat "/proc/$(main_pid "$1")/status"; }
set_key() { inside sed -i "s|^#* *$1 *=.*|$1 = \"$2\"|" /etc/pepsi/pepsi.conf; }

# The unit's journal since the container began; further arguments narrow it.
journal() {
    local unit=$1
    shift
    inside journalctl --no-pager --output cat --unit "$unit" "$@"
}

ok() { echo "ok: $*"; }

failed() {
    echo "FAILED: $*" >&2
    exit 1
}

# Asks again for up to $PATIENCE seconds, by default a minute, until the answer fits the pattern of the shell.
expect() {
    local what=$1 wanted=$2 said= deadline=$((SECONDS + ${PATIENCE:-60}))
    shift 2
    while :; do
        said=$("$@" 2>&1) || true
        # Unquoted: it is a pattern.
        # shellcheck disable=SC2053
        [[ $said == $wanted ]] && break
        [ "$SECONDS" -lt "$deadline" ] || failed "$what: expected '$wanted' from '$*', last seen:" "$(tail -n 20 <<<"$said")"
        sleep 0.2
    done
    ok "$what"
}
