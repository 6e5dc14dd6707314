//! An HTTP server on loopback that tells where it listens and then serves until its process ends.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};

use anyhow::Context;
use axum::Router;
use serde_json::json;

/// Takes the port; 0 means any free one.
pub fn bind(listen: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(listen).with_context(|| format!("cannot listen on {listen}"))
}

/// One JSON line on stdout, for whoever started this process: `{"url":"http://127.0.0.1:4711"}`.
pub fn announce(listener: &TcpListener) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", json!({"url": url_of(listener)?}))?;
    stdout.flush().context("cannot tell the address on stdout")
}

pub fn url_of(listener: &TcpListener) -> anyhow::Result<String> {
    Ok(format!("http://{}", listener.local_addr()?))
}

/// Serves for good, on this thread. Handlers that wait for a disk use `spawn_blocking`.
pub fn run(listener: TcpListener, router: Router) -> anyhow::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        axum::serve(listener, router).await.context("the server stopped")
    })
}
