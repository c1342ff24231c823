//! The DNS listeners of a running instance: opened as views need them, closed when a class lets go.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use server::{Bound, BoundTls, Counters, Endpoint, EndpointId, ServeHandle, Views};

use super::ports::Slot;
use super::serving::Serving;

/// All listeners.
#[derive(Debug)]
pub struct Listeners {
    first: SocketAddr,
    serving: Serving,
    open: BTreeMap<Slot, Listener>,
    encrypted: Option<Encrypted>,
    next: u16,
}

#[derive(Debug)]
struct Listener {
    id: EndpointId,
    address: SocketAddr,
    socket: Socket,
}

#[derive(Debug)]
enum Socket {
    /// Holds the port; answers once its endpoint is in the view table.
    Bound(Bound),
    Serving(ServeHandle),
}

/// DNS over TLS, which leads where the first slot leads.
#[derive(Debug)]
struct Encrypted {
    id: EndpointId,
    address: SocketAddr,
    socket: EncryptedSocket,
}

#[derive(Debug)]
enum EncryptedSocket {
    Bound(BoundTls),
    Serving(ServeHandle),
}

/// What a listener has counted.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The endpoint it serves.
    pub endpoint: EndpointId,
    /// Its address.
    pub address: SocketAddr,
    /// Whether it is one for DNS over TLS.
    pub encrypted: bool,
    /// Its counters.
    pub counters: Arc<Counters>,
}

impl Listeners {
    /// No listener yet; numbered ones start at this address.
    pub fn new(first: SocketAddr, serving: Serving) -> Listeners {
        Listeners { first, serving, open: BTreeMap::new(), encrypted: None, next: 0 }
    }

    /// Binds what is wanted and not open yet; returns what could not be bound.
    pub async fn bind(&mut self, wanted: &BTreeMap<Slot, Endpoint>) -> Vec<anyhow::Error> {
        let mut troubles = Vec::new();
        for slot in wanted.keys() {
            if !self.open.contains_key(slot) {
                let bound = self.bind_one(*slot).await;
                troubles.extend(bound.err());
            }
        }
        troubles.extend(self.bind_encrypted().await.err());
        troubles
    }

    /// Binds the address for DNS over TLS, once the first slot has its number.
    async fn bind_encrypted(&mut self) -> Result<()> {
        let (None, Some((address, _)), Some(first)) =
            (&self.encrypted, &self.serving.tls, self.open.get(&Slot::Numbered(0)))
        else {
            return Ok(());
        };
        let bound = server::bind_tls(*address).await.with_context(|| {
            format!("cannot serve DNS over TLS on {address} (choose another address with --dns-tls)")
        })?;
        let (id, address) = (first.id, bound.local_addr());
        self.encrypted = Some(Encrypted { id, address, socket: EncryptedSocket::Bound(bound) });
        Ok(())
    }

    async fn bind_one(&mut self, slot: Slot) -> Result<()> {
        let address = self.address_of(slot)?;
        let bound = server::bind(address).await.with_context(|| match slot {
            Slot::Numbered(_) => format!("cannot serve DNS on {address} (choose another address with --dns)"),
            Slot::Own(_) => {
                format!("cannot serve DNS on {address} (a DNSClass names it under embedded.listen)")
            }
        })?;
        let listener =
            Listener { id: EndpointId(self.next), address: bound.local_addr(), socket: Socket::Bound(bound) };
        self.next += 1;
        self.open.insert(slot, listener);
        Ok(())
    }

    fn address_of(&self, slot: Slot) -> Result<SocketAddr> {
        let number = match slot {
            Slot::Own(address) => return Ok(address),
            Slot::Numbered(number) => number,
        };
        // Port 0 asks for any free port, for every view.
        let port = if self.first.port() == 0 { Some(0) } else { self.first.port().checked_add(number) };
        let port = port.ok_or_else(|| {
            anyhow!(
                "no port is left after {} for view {}: choose a lower port with --dns",
                self.first,
                number + 1
            )
        })?;
        Ok(SocketAddr::new(self.first.ip(), port))
    }

    /// What goes into the view table: the wanted endpoints by the numbers of their listeners.
    pub fn table(&self, wanted: &BTreeMap<Slot, Endpoint>) -> BTreeMap<EndpointId, Endpoint> {
        let entry = |(slot, endpoint): (&Slot, &Endpoint)| Some((self.open.get(slot)?.id, endpoint.clone()));
        wanted.iter().filter_map(entry).collect()
    }

    /// Answers on every bound listener, and closes those that nobody wants any more.
    pub async fn serve(&mut self, wanted: &BTreeMap<Slot, Endpoint>, views: &Views) {
        let gone: Vec<Slot> = self.open.keys().filter(|slot| !wanted.contains_key(slot)).copied().collect();
        for slot in gone {
            if let Some(listener) = self.open.remove(&slot) {
                listener.stop().await;
            }
        }
        let open = std::mem::take(&mut self.open);
        let serve = |listener: Listener| listener.serve(&self.serving, views);
        self.open = open.into_iter().map(|(slot, listener)| (slot, serve(listener))).collect();
        self.encrypted = self.encrypted.take().map(|listener| listener.serve(&self.serving, views));
    }

    /// The address of DNS over TLS, where it is open.
    pub fn encrypted_address(&self) -> Option<SocketAddr> {
        self.encrypted.as_ref().map(|listener| listener.address)
    }

    /// The views that have an address of their own, with it.
    pub fn views(&self, wanted: &BTreeMap<Slot, Endpoint>) -> BTreeMap<String, SocketAddr> {
        let entry =
            |(slot, endpoint): (&Slot, &Endpoint)| Some((endpoint.view.clone()?, self.address(*slot)?));
        wanted.iter().filter_map(entry).collect()
    }

    /// The address of a slot, where it is open.
    pub fn address(&self, slot: Slot) -> Option<SocketAddr> {
        self.open.get(&slot).map(|listener| listener.address)
    }

    /// What every listener has counted.
    pub fn counted(&self) -> Vec<Counted> {
        let encrypted = self.encrypted.iter().filter_map(Encrypted::counted);
        self.open.values().filter_map(Listener::counted).chain(encrypted).collect()
    }

    /// Stops all of them, queries under way finished.
    pub async fn stop(self) {
        for listener in self.open.into_values() {
            listener.stop().await;
        }
        if let Some(Encrypted { socket: EncryptedSocket::Serving(handle), .. }) = self.encrypted {
            handle.stop().await;
        }
    }
}

impl Encrypted {
    fn serve(self, serving: &Serving, views: &Views) -> Encrypted {
        let socket = match (self.socket, &serving.tls) {
            (EncryptedSocket::Bound(bound), Some((_, certificate))) => {
                let tls = certificate.configuration.clone();
                let handle = server::serve_tls(&serving.options, tls, bound, self.id, views.clone());
                EncryptedSocket::Serving(handle)
            }
            (socket, _) => socket,
        };
        Encrypted { socket, ..self }
    }

    fn counted(&self) -> Option<Counted> {
        match &self.socket {
            EncryptedSocket::Serving(handle) => Some(counted(self.id, self.address, true, handle)),
            EncryptedSocket::Bound(_) => None,
        }
    }
}

fn counted(endpoint: EndpointId, address: SocketAddr, encrypted: bool, handle: &ServeHandle) -> Counted {
    Counted { endpoint, address, encrypted, counters: handle.counters() }
}

impl Listener {
    fn serve(self, serving: &Serving, views: &Views) -> Listener {
        let socket = match self.socket {
            Socket::Bound(bound) => {
                let options = serving.options.clone();
                Socket::Serving(server::serve_with(options, bound, self.id, views.clone()))
            }
            serving => serving,
        };
        Listener { socket, ..self }
    }

    fn counted(&self) -> Option<Counted> {
        match &self.socket {
            Socket::Serving(handle) => Some(counted(self.id, self.address, false, handle)),
            Socket::Bound(_) => None,
        }
    }

    async fn stop(self) {
        if let Socket::Serving(handle) = self.socket {
            handle.stop().await;
        }
    }
}
