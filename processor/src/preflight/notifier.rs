//! Whether the notifier, where one is registered, offers what notify events need. Never blocking:
//! sql events go on without it.

use super::{APP, Finding};
use crate::engine::notify::interface::{self, Interface};
use crate::oneshot::{self, DatabaseError};
use shared::db::connect::Connector;

/// Looks at the notifier, on a session of its own: its code runs there.
pub(super) async fn look(connector: &Connector) -> Result<Interface, DatabaseError> {
    const DOING: &str = "looking at the notifier";
    let session = oneshot::open(connector, APP).await?;
    let client = &session.client;
    client
        .batch_execute("BEGIN")
        .await
        .map_err(DatabaseError::statement(DOING))?;
    let interface = match interface::look(client).await {
        Ok(interface) => interface,
        Err(_) if client.is_closed() => Interface::ended_its_session(),
        Err(error) => return Err(DatabaseError::statement(DOING)(error)),
    };
    session.close().await;
    Ok(interface)
}

/// What there is to say about it.
pub(super) fn findings(interface: &Interface) -> impl Iterator<Item = Finding> {
    interface
        .problems()
        .iter()
        .map(|problem| Finding::warning(problem.code, &problem.message).hint(&problem.hint))
}
