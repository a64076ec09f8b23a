//! Mail through Microsoft Graph, as the token endpoint and Graph see it.

mod answers;
mod arbitrary;
mod cloud;
mod deadlines;
#[path = "../webhook/documents.rs"]
mod documents;
mod environment;
mod other_server;
#[path = "../webhook/peer.rs"]
mod peer;
mod requests;
#[path = "../webhook/sending.rs"]
mod sending;
mod sharing;
