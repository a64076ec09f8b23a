//! What every schema of ours must keep to: who may do what, functions closed to the public, fixed search paths, comments.

use fleet_tests::database::{Database, describe};
use tokio_postgres::error::SqlState;

/// Letter in a matrix, end of the member's name, group role; an empty group is that of a stranger.
pub(crate) type Role = (char, &'static str, &'static str);

/// Statement, and the letters of the roles that may run it.
pub(crate) type Rights = (&'static str, &'static str);

/// Creates a member of each role, whose name is the database's own, since roles belong to the whole server.
pub(crate) async fn create_members(db: &Database, roles: &[Role]) {
    for (_, suffix, group) in roles {
        let member = format!("{}_{suffix}", db.name());
        db.execute(&format!("CREATE ROLE {member}")).await;
        if !group.is_empty() {
            db.execute(&format!("GRANT {group} TO {member}")).await;
        }
    }
}

/// Takes them away again.
pub(crate) async fn drop_members(db: &Database, roles: &[Role]) {
    for (_, suffix, _) in roles {
        db.execute(&format!("DROP ROLE {}_{suffix}", db.name()))
            .await;
    }
}

/// Runs every statement as every role and takes it back. What is not allowed must be refused with 42501.
pub(crate) async fn check_matrix(db: &Database, roles: &[Role], matrix: &[Rights]) {
    let mut wrong = Vec::new();
    for (letter, suffix, _) in roles {
        let session = db.as_role(&format!("{}_{suffix}", db.name())).await;
        for (sql, allowed) in matrix {
            session.batch_execute("BEGIN").await.expect("a transaction");
            let result = session.batch_execute(sql).await;
            session.batch_execute("ROLLBACK").await.expect("its end");
            let expected = allowed.contains(*letter);
            match result {
                Ok(()) if expected => {}
                Ok(()) => wrong.push(format!("{suffix} may: {sql}")),
                Err(error)
                    if !expected && error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {}
                Err(error) => wrong.push(format!("{suffix} got {}: {sql}", describe(&error))),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// No function may be called by everybody, and each one that people call is in the matrix.
pub(crate) async fn check_functions(db: &Database, schema: &str, matrix: &[Rights]) {
    let sql = "SELECT p.oid::regprocedure::text FROM pg_proc AS p WHERE p.pronamespace = $1::text::regnamespace \
               AND (p.proacl IS NULL OR EXISTS (SELECT FROM aclexplode(p.proacl) AS a WHERE a.grantee = 0))";
    let open = db.rows(sql, &[&schema]).await;
    assert!(open.is_empty(), "open to everybody: {open:?}");
    let sql = "SELECT DISTINCT p.proname::text FROM pg_proc AS p WHERE p.pronamespace = $1::text::regnamespace AND p.proname !~ '^_'";
    for row in db.rows(sql, &[&schema]).await {
        let name: String = row.get(0);
        let call = format!("{schema}.{name}(");
        assert!(
            matrix.iter().any(|(sql, _)| sql.contains(&call)),
            "{name} is missing from the matrix"
        );
    }
}

/// What runs with its owner's rights must not find the caller's objects.
pub(crate) async fn check_search_paths(db: &Database, schema: &str) {
    let sql = "SELECT p.oid::regprocedure::text FROM pg_proc AS p WHERE p.pronamespace = $1::text::regnamespace AND p.prosecdef \
               AND NOT coalesce(p.proconfig @> ARRAY['search_path=pg_catalog, pg_temp'], false)";
    let loose = db.rows(sql, &[&schema]).await;
    assert!(loose.is_empty(), "{loose:?}");
    let sql = "SELECT count(*) FROM pg_proc AS p WHERE p.pronamespace = $1::text::regnamespace AND p.prosecdef";
    assert!(db.query_one::<i64>(sql, &[&schema]).await > 10);
}

/// Every object says what it is.
pub(crate) async fn check_comments(db: &Database, schema: &str) {
    let sql = "SELECT 'schema' WHERE obj_description($1::text::regnamespace, 'pg_namespace') IS NULL \
        UNION ALL SELECT c.oid::regclass::text FROM pg_class AS c WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'v', 'S') \
            AND obj_description(c.oid, 'pg_class') IS NULL AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.objid = c.oid AND d.deptype = 'i' AND c.relkind = 'S') \
        UNION ALL SELECT c.oid::regclass || '.' || a.attname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid \
            WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND col_description(c.oid, a.attnum) IS NULL \
        UNION ALL SELECT p.oid::regprocedure::text FROM pg_proc AS p WHERE p.pronamespace = $1::text::regnamespace AND obj_description(p.oid, 'pg_proc') IS NULL \
        UNION ALL SELECT t.tgname::text FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid WHERE c.relnamespace = $1::text::regnamespace \
            AND NOT t.tgisinternal AND obj_description(t.oid, 'pg_trigger') IS NULL";
    let rows = db.rows(sql, &[&schema]).await;
    let silent: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert!(silent.is_empty(), "without a comment: {silent:?}");
}
