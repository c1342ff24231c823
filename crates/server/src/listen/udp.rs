//! The UDP side of an address: one message in, one out.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::watch;

use super::{Service, ended};
use crate::Transport;
use crate::transfer::Attended;

/// Long enough that a socket which always fails does not eat a core.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(5);

/// Answers until `stopped`.
pub(super) async fn serve(socket: UdpSocket, service: Service, mut stopped: watch::Receiver<()>) {
    let mut query = vec![0; usize::from(u16::MAX)];
    let mut response = Vec::with_capacity(usize::from(u16::MAX));
    loop {
        let received = tokio::select! {
            biased;
            () = ended(&mut stopped) => return,
            received = socket.recv_from(&mut query) => received,
        };
        match received {
            Ok((length, client)) => reply(&socket, &service, &query[..length], client, &mut response).await,
            Err(error) => {
                tracing::debug!(%error, "receiving failed");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
            }
        }
    }
}

async fn reply(socket: &UdpSocket, service: &Service, query: &[u8], client: SocketAddr, out: &mut Vec<u8>) {
    let Attended::Replied(reply) = service.attend(query, client.ip(), Transport::Udp, out) else { return };
    match socket.send_to(out, client).await {
        Ok(_) => service.counters.sent(reply),
        Err(error) => {
            tracing::debug!(%client, %error, "sending failed");
            service.counters.dropped();
        }
    }
}
