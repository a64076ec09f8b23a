# Both services through what a host on another machine needs: DNS, TLS with the system's certificates, a password that systemd hands over;
# then a webhook whose secret is in secrets.env. None of it may be stopped by the units' hardening. Sourced by tests/units.

database_host=db.pgrelay.test
hook_host=hooks.pgrelay.test
database_password=correct-horse-battery
hook_password=staple-of-the-hook

# An authority that the system trusts, a certificate for both names, and a name server that knows them.
trust_and_resolve() {
    shell "umask 077; mkdir /etc/tls && cd /etc/tls &&
        openssl req -x509 -newkey rsa:2048 -noenc -days 2 -subj '/CN=Authority of a test' -keyout ca.key -out ca.pem &&
        openssl req -newkey rsa:2048 -noenc -subj /CN=$database_host -keyout server.key -out server.csr &&
        echo subjectAltName=DNS:$database_host,DNS:$hook_host >names &&
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem" 2>/dev/null
    shell 'install -m 644 /etc/tls/ca.pem /usr/local/share/ca-certificates/test.crt && update-ca-certificates' >/dev/null 2>&1
    "$docker" exec --detach "$container" dnsmasq --keep-in-foreground --user=root --no-resolv --no-hosts --listen-address=127.0.0.1 \
        --bind-interfaces --address=/pgrelay.test/127.0.0.1
    shell 'echo nameserver 127.0.0.1 >/etc/resolv.conf'
    expect "names are looked up with DNS" "127.0.0.1 *" inside getent ahosts $hook_host
}

# PostgreSQL with that certificate, and a password for whoever does not come through the socket.
serve_database_over_tls() {
    shell "cd /var/lib/postgresql && install -o postgres -m 600 /etc/tls/server.key /etc/tls/server.pem ."
    sql "ALTER SYSTEM SET ssl_cert_file = '/var/lib/postgresql/server.pem'"
    sql "ALTER SYSTEM SET ssl_key_file = '/var/lib/postgresql/server.key'"
    sql "ALTER SYSTEM SET ssl = on"
    sql "ALTER ROLE pepsi PASSWORD '$database_password'; ALTER ROLE \"pg-relay\" PASSWORD '$database_password'"
    inside systemctl restart postgresql
    expect "the database asks for a password" "*no password supplied*" \
        inside psql -w "host=$database_host dbname=app user=pepsi sslmode=verify-full sslrootcert=/etc/tls/ca.pem"
}

# All sessions of the role over IP, each with whether it is encrypted.
sessions_over_ip() {
    sql "SELECT DISTINCT client_addr, ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE usename = '$1' AND client_addr IS NOT NULL"
}

encrypted_connections_work() {
    trust_and_resolve
    serve_database_over_tls
    inside systemctl stop $processor $bouncer
    echo -n $database_password | write /etc/pepsi/postgres-password
    shell 'chmod 600 /etc/pepsi/postgres-password'
    set_key HOST $database_host
    # As the comment in the units has it.
    shell "sed -i 's/^#LoadCredential=/LoadCredential=/' /etc/systemd/system/p*.service && systemctl daemon-reload"
    inside systemctl start $processor $bouncer
    expect "the Processor runs" running property $processor StatusText
    expect "through TLS, with a credential" "127.0.0.1|t" sessions_over_ip pg-relay
    enqueue encrypted 'SELECT 1' >/dev/null
    expect "and serves" done last_status encrypted
    expect "the bouncer as well" "127.0.0.1|t" sessions_over_ip pepsi
    expect_bounced "and bounces" failed
    expect_password_file_of_the_account
}

# The case for which the bouncer's unit keeps CAP_DAC_READ_SEARCH.
expect_password_file_of_the_account() {
    inside systemctl stop $bouncer
    shell "cd /etc/pepsi && cp pepsi.conf kept.conf && install -o pepsi -m 600 postgres-password of-pepsi"
    set_key PASSWORD_FILE /etc/pepsi/of-pepsi
    amend $bouncer LoadCredential= CapabilityBoundingSet= 'CapabilityBoundingSet=CAP_SETUID CAP_SETGID'
    expect_given_up "root needs CAP_DAC_READ_SEARCH for the account's own PASSWORD_FILE (78)" $bouncer 78
    amend $bouncer LoadCredential=
    inside systemctl start $bouncer
    expect "and has it" "127.0.0.1|t" sessions_over_ip pepsi
    inside systemctl stop $bouncer
    amend $bouncer
    shell 'mv /etc/pepsi/kept.conf /etc/pepsi/pepsi.conf'
}

# The file asks for a password and takes what is sent to it.
serve_webhook() {
    shell 'mkdir /srv/hook && chown www-data /srv/hook'
    echo "app:$(inside openssl passwd -6 "$hook_password")" | write /etc/nginx/users
    write /etc/nginx/conf.d/hook.conf <<SERVER
server {
    listen 127.0.0.1:443 ssl;
    server_name $hook_host;
    ssl_certificate /etc/tls/server.pem;
    ssl_certificate_key /etc/tls/server.key;
    root /srv/hook;
    auth_basic hook;
    auth_basic_user_file /etc/nginx/users;
    location / { dav_methods PUT; }
}
SERVER
    inside systemctl restart nginx
}

# Prints the id of the notification.
send_to_hook() { sql "SELECT pgrelay_notifier.send_webhook('hook', '{\"number\": 4711}')"; }
end_of() { sql "SELECT status FROM pgrelay_notifier.notification_status WHERE id = $1"; }

secrets_reach_the_service_only() {
    local id
    serve_webhook
    sql "SELECT pgrelay_notifier.create_profile('hook', 'webhook', '{\"url\": \"https://$hook_host/received\", \"method\": \"PUT\",
        \"allow_private_network\": true, \"headers\": {\"Authorization\": \"_env:HOOK_AUTHORIZATION\"}}')" >/dev/null
    id=$(send_to_hook)
    expect "without its secret nothing is sent" failed end_of "$id"
    printf 'HOOK_AUTHORIZATION="Basic %s"\n' "$(echo -n "app:$hook_password" | base64)" | write /etc/pepsi/secrets.env
    inside systemctl restart $processor
    id=$(send_to_hook)
    expect "a secret of EnvironmentFile= is used, over TLS" sent end_of "$id"
    expect "what was sent has arrived" '*4711*' inside cat /srv/hook/received
    expect "the account cannot read the file" "*Permission denied" inside runuser -u pg-relay -- cat /etc/pepsi/secrets.env
}
