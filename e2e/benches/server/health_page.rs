//! A page that says that the second choice is up, for servers that probe by themselves.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use anyhow::{Context, Result};

use crate::rows::SECONDARY;

/// Serves it on the second choice's address, and says on which port.
pub(crate) fn start() -> Result<u16> {
    let listener = TcpListener::bind((SECONDARY, 0)).context("cannot serve the health page")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
    Ok(port)
}

fn answer(mut client: TcpStream) {
    // Whoever hangs up early has missed the page, and asks again.
    let _ = client.read(&mut [0; 1024]);
    let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nup\n");
}
