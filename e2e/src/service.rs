//! One address in front of several DNS servers, as a Service in a cluster is: a test says which one answers.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Result;

use crate::own_address;

/// How long a server may take to answer before a datagram is given up.
const PATIENCE: Duration = Duration::from_secs(3);
/// The longest datagram that is passed on.
const DATAGRAM: usize = 4096;

/// The address. Its threads wait for clients for as long as the process lives.
pub struct Service {
    address: SocketAddr,
    server: Arc<Mutex<SocketAddr>>,
}

impl Service {
    /// An address that leads to this server until it is moved.
    pub fn start(server: SocketAddr) -> Result<Service> {
        let listener = TcpListener::bind((own_address(), 0))?;
        let address = listener.local_addr()?;
        let datagrams = UdpSocket::bind(address)?;
        let server = Arc::new(Mutex::new(server));
        let (for_streams, for_datagrams) = (Arc::clone(&server), Arc::clone(&server));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = now(&for_streams);
                // Whoever is cut off connects again.
                thread::spawn(move || converse(client, server));
            }
        });
        thread::spawn(move || {
            loop {
                // A datagram that is lost is sent again.
                let _ = pass_on(&datagrams, now(&for_datagrams));
            }
        });
        Ok(Service { address, server })
    }

    /// Where clients come to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Leads new clients to another server.
    pub fn lead_to(&self, server: SocketAddr) {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = server;
    }
}

fn now(server: &Mutex<SocketAddr>) -> SocketAddr {
    *server.lock().unwrap_or_else(PoisonError::into_inner)
}

fn converse(client: TcpStream, server: SocketAddr) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    let asking = thread::spawn(move || copy(&from_client, &to_server));
    copy(&server, &client)?;
    client.shutdown(Shutdown::Both)?;
    drop(asking.join());
    Ok(())
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Write)
}

fn pass_on(datagrams: &UdpSocket, server: SocketAddr) -> io::Result<()> {
    let mut buffer = [0; DATAGRAM];
    let (length, client) = datagrams.recv_from(&mut buffer)?;
    let outside = UdpSocket::bind((own_address(), 0))?;
    outside.set_read_timeout(Some(PATIENCE))?;
    outside.send_to(&buffer[..length], server)?;
    let (length, _) = outside.recv_from(&mut buffer)?;
    datagrams.send_to(&buffer[..length], client).map(drop)
}
